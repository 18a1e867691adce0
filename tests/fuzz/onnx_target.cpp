// ONNX files: whatever protobuf bytes say, the importers, of quantized files and of float ones,
// give a valid graph or an Error that names the file; a Graph is written and imported again as
// itself, and compiled or refused.
#include <memory>
#include <numeric>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/onnx/importer/real_importer.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"
#include "tests/onnx/writable_graph.h"

namespace qsim::fuzz {

using namespace compiler;
using namespace formats;
namespace {

constexpr double kMostWork = 1 << 20;
constexpr std::int64_t kBatch = 2;

// Elements and multiply-accumulates, in floating point, which does not wrap.
double work_of(const Graph& graph) {
  const auto elems = [](const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), 1.0,
                           [](double a, std::int64_t b) { return a * static_cast<double>(b); });
  };
  double work = elems(graph.input_value().shape.nhwc());
  for (const Layer& layer : graph.layers) {
    Shape macs = graph.tensors[layer.output].shape.nhwc();
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      macs.insert(macs.end(), conv->weights.shape.begin() + 1, conv->weights.shape.end());
    } else if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      macs.push_back(fc->weights.shape[1]);
    }
    work += elems(macs);
  }
  return work;
}

void check_compiled(const Graph& graph) {
  ArchConfig arch;
  arch.array_rows = arch.array_cols = 8;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 8;
  arch.accumulator_kib = arch.output_scratchpad_kib = 4;
  Program program;
  const ExitCode code = outcome([&] { program = compile(graph, arch); });
  require(code != ExitCode::kBadInput, "the compiler takes an imported graph for bad input");
  if (code != ExitCode::kOk) return;
  for (const std::string& violation : verify(program, arch)) {
    finding("the compiled program breaks a rule: " + violation);
  }
}

// The writer leaves out a Relu that does nothing; a graph that it says in full comes back.
void check_round_trip(const Folder& folder, const Graph& graph) {
  const auto path = folder.path() / "written.onnx";
  if (!accepted([&] {
        check_writable(graph);
        write_onnx(graph, path);
      })) {
    return;
  }
  const Graph second = import_onnx(path);
  if (second.layers.size() == graph.layers.size()) {
    const std::string difference = qsim::difference(graph, second);
    require(difference.empty(), "import(write(graph)) differs in " + difference);
  }
  write_onnx(second, path);
  const std::string difference = qsim::difference(second, import_onnx(path));
  require(difference.empty(), "the second import(write(graph)) differs in " + difference);
}

// The float importer gives a valid graph or an Error; for two pictures the same layers.
bool check_float(const std::filesystem::path& path) {
  const auto held = std::make_shared<const HeldFile>(path);
  Graph graph;
  if (!accepted([&] { graph = import_real_onnx(held); })) return false;
  validate(graph);
  require(is_float_onnx(held), "a float graph of a quantized file");
  Graph two;
  if (accepted([&] { two = import_real_onnx(held, {kBatch}); })) {
    require(two.layers.size() == graph.layers.size(), "another batch gives other layers");
  }
  return true;
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  // A neighbour for models whose tensors lie in a file of their own.
  static const auto kWeights = folder.file("weights.bin", std::string(64, '\x05'));
  const auto path = folder.file("model.onnx", text_of(input));
  Graph graph;
  if (!accepted([&] { graph = import_onnx(path); })) {
    accepted([&] { import_onnx(path, kBatch); });
    return check_float(path);
  }
  validate(graph);
  if (work_of(graph) > kMostWork) return false;
  check_round_trip(folder, graph);
  check_compiled(graph);
  return true;
}

}  // namespace qsim::fuzz
