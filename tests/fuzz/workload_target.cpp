// Workload files: the reader of the layers takes anything; those of a modest size are made too,
// and must then be valid graphs whose tensors fit.
#include <algorithm>

#include "formats/workload/workload.h"
#include "formats/workload/workload_file.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;
namespace {

constexpr double kMostElems = 1 << 18;

// Bytes and steps to make the network take, from above; in floating point, which does not wrap.
double size_of(const WorkloadSpec& spec) {
  const auto as_double = [](std::int64_t n) { return static_cast<double>(n); };
  const ImageShape& in = spec.input.shape;
  double height = as_double(in.height);
  double width = as_double(in.width);
  double channels = as_double(in.channels);
  double total = as_double(in.batch) * height * width * channels;
  for (const LayerSpec& layer : spec.layers) {
    const Window& w = layer.window;
    height += as_double(w.pad_top + w.pad_bottom);
    width += as_double(w.pad_left + w.pad_right);
    if (layer.kind == LayerKind::kFlatten) {
      channels *= height * width;
      height = width = 1;
    }
    if (layer.out_channels > 0) {
      const auto taps = as_double(w.kernel_h * w.kernel_w);
      total += as_double(layer.out_channels) * taps * channels;
      // A layer may read any earlier one: the widest counts.
      channels = std::max(channels, as_double(layer.out_channels));
    }
    if (layer.kind == LayerKind::kConcat) channels *= as_double(std::ssize(layer.inputs));
    total += as_double(in.batch) * height * width * channels;
  }
  return total;
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  const auto path = folder.file("workload.yaml", text_of(input));
  WorkloadSpec spec;
  if (!accepted([&] { spec = read_workload_file(path); })) return false;
  if (size_of(spec) > kMostElems) return false;
  Workload workload;
  if (!accepted([&] { workload = load_workload(path); })) return false;
  validate(workload.graph);
  require(workload.input.shape == workload.graph.input_value().shape.nhwc(),
          "an input of another shape than the graph's");
  require(load_workload(path).input == workload.input, "two readings differ");
  return true;
}

}  // namespace qsim::fuzz
