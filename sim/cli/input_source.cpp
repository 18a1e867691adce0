#include "sim/cli/input_source.h"

#include <algorithm>

#include "core/io/cifar.h"
#include "core/io/npy.h"
#include "sim/cli/host_layout.h"
#include "sim/cli/shipped_files.h"

namespace qsim {
namespace {

// What preprocess() needs of a graph: its input, one picture at a time.
Graph one_picture(const Graph& graph) {
  Graph one;
  one.name = graph.name;
  one.input = graph.input;
  one.input.shape.batch = 1;
  one.host = graph.host;
  return one;
}

std::string given_name(const Options& options, const ArchConfig& config, const Model& model) {
  if (!options.input.empty()) return options.input;
  if (model.own_input) return "";
  if (options.model.empty() || options.model == config.model) return config.input;
  throw Error(ExitCode::kUsage,
              "model '" + model.name + "' needs an --input: an image, a .npy or a CIFAR-10 batch");
}

}  // namespace

InputSource::InputSource(const Options& options, const ArchConfig& config, const Model& model)
    : name_(given_name(options, config, model)) {
  if (!name_.empty()) {
    path_ = options.input.empty() ? find_input(name_, "config '" + config.name + "': input")
                                  : find_input(name_);
    kind_ = path_.extension() == ".npy"   ? Kind::kNpy
            : path_.extension() == ".bin" ? Kind::kCifar
                                          : Kind::kPicture;
  }
  if (kind_ != Kind::kCifar && options.index) {
    throw Error(ExitCode::kUsage, "--index needs a CIFAR-10 batch (.bin) as --input");
  }
  if (kind_ != Kind::kCifar && options.images > 1) {
    throw Error(ExitCode::kUsage, "--images needs a CIFAR-10 batch (.bin) as --input");
  }
  first_ = options.index.value_or(0);
  if (kind_ == Kind::kCifar) require_records(options.images * model.graph.input.shape.batch);
  if (kind_ == Kind::kCifar) name_ += "[" + std::to_string(first_) + "]";
}

// All at once, so that a series does not end with an error half way.
void InputSource::require_records(std::int64_t count) const {
  const std::int64_t records = cifar_count(path_);
  if (first_ <= records - count) return;
  throw_bad_input(path_.string() + ": records " + std::to_string(first_) + " to " +
                  std::to_string(first_ + count - 1) + " are wanted; the batch has " +
                  std::to_string(records) + ", allowed: 0 to " + std::to_string(records - 1));
}

Tensor InputSource::at(const Model& model, std::int64_t number) const {
  if (kind_ == Kind::kOwn) return *model.own_input;
  if (kind_ == Kind::kNpy) return input_from_host(read_npy(path_), model.graph, path_.string());
  return pictures(model, number);
}

Tensor InputSource::pictures(const Model& model, std::int64_t number) const {
  if (!model.sidecar) {
    std::filesystem::path expected = model.path;
    expected.replace_extension(".yaml");
    throw_bad_input(path_.string() +
                    ": is taken for a picture (neither .npy nor .bin), and model '" + model.name +
                    "' does not say how to preprocess one; expected " +
                    (model.kind == ModelKind::kOnnx ? expected.string() + " beside it, or " : "") +
                    "a .npy as --input");
  }
  const Graph one = one_picture(model.graph);
  const std::int64_t batch = model.graph.input.shape.batch;
  Tensor input(model.graph.input.dtype, model.graph.input.shape.nhwc());
  std::size_t filled = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    const Image image = kind_ == Kind::kCifar ? read_cifar(path_, first_ + number * batch + n).image
                                              : read_image(path_);
    const Tensor picture = preprocess(image, *model.sidecar, one);
    std::copy(picture.bytes.begin(), picture.bytes.end(),
              input.bytes.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += picture.bytes.size();
  }
  return input;
}

}  // namespace qsim
