#include "cli/session/inputs/input_source.h"

#include <algorithm>
#include <cctype>

#include "cli/host_tensors/preprocess.h"
#include "cli/session/inputs/shipped_files.h"
#include "core/network/graph_shapes.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/pictures/cifar.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

std::string given_name(const NetworkRequest& request, const std::string& input,
                       const ArchConfig& config, const Model& model) {
  if (!input.empty()) return input;
  if (model.own_input) return "";
  if (request.model.empty() || request.model == config.model) return config.input;
  throw Error(ExitCode::kUsage,
              "model '" + model.name + "' needs an --input: an image, a .npy or a CIFAR-10 batch");
}

// The kind by the file's extension, in capital letters too.
InputKind kind_of(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension == ".npy") return InputKind::kNpy;
  return extension == ".bin" ? InputKind::kCifar : InputKind::kPicture;
}

}  // namespace

std::string npy_name(std::string input) {
  std::ranges::replace(input, '/', '_');
  return input + ".npy";
}

InputFile find_input_file(const NetworkRequest& request, const std::string& input,
                          const ArchConfig& config, const Model& model) {
  InputFile file;
  file.name = given_name(request, input, config, model);
  if (file.name.empty()) return file;
  file.path = input.empty() ? find_input(file.name, "config '" + config.name + "': input")
                            : find_input(file.name);
  if (model.file != nullptr && formats::is_folder(file.path)) {
    const std::vector<std::string> names = formats::input_names(model.file);
    if (names.size() == 1) file.path /= npy_name(names[0]);
  }
  file.kind = kind_of(file.path);
  return file;
}

void require_preprocessing(const InputFile& file, const Model& model) {
  if (model.sidecar) return;
  const bool cifar = file.kind == InputKind::kCifar;
  std::filesystem::path expected = model.path;
  expected.replace_extension(".yaml");
  throw_bad_input(file.path.string() + ": is read as " +
                  (cifar ? "a CIFAR-10 batch (.bin)" : "a picture (neither .npy nor .bin)") +
                  ", but model '" + model.name + "' does not say how to preprocess a picture" +
                  "; expected " +
                  (model.kind == ModelKind::kOnnx ? expected.string() + " beside it, or " : "") +
                  "a .npy as --input");
}

InputSource::InputSource(const NetworkRequest& request, const InputOptions& options,
                         const ArchConfig& config, const Model& model,
                         std::optional<std::int64_t> images)
    : file_(find_input_file(request, options.input, config, model)),
      first_(options.index.value_or(0)),
      pictures_(images.value_or(model.graph.input_value().shape.batch)) {
  if (file_.kind == InputKind::kCifar) {
    require_records();
    file_.name += "[" + std::to_string(first_) + "]";
    return;
  }
  if (options.index) {
    throw Error(ExitCode::kUsage, "--index needs a CIFAR-10 batch (.bin) as --input");
  }
  if (images) {
    throw Error(ExitCode::kUsage, "--images needs a CIFAR-10 batch (.bin) as --input");
  }
}

// All at once, so that a series does not end with an error half way.
void InputSource::require_records() const {
  const std::int64_t records = formats::cifar_count(file_.path);
  if (first_ <= records - pictures_) return;
  throw_bad_input(file_.path.string() + ": records " + std::to_string(first_) + " to " +
                  std::to_string(first_ + pictures_ - 1) + " are wanted; the batch has " +
                  std::to_string(records) + ", allowed: 0 to " + std::to_string(records - 1));
}

Tensor InputSource::at(const Model& model, std::int64_t picture) const {
  if (file_.kind == InputKind::kOwn) return *model.own_input;
  if (file_.kind != InputKind::kNpy) return pictures_from(model, picture);
  return input_from_host(formats::read_npy(file_.path), input_form(model.graph),
                         file_.path.string());
}

Tensor InputSource::pictures_from(const Model& model, std::int64_t picture) const {
  require_preprocessing(file_, model);
  const InputForm one = one_picture(input_form(model.graph));
  const std::int64_t batch = model.graph.input_value().shape.batch;
  Tensor input(model.graph.input_value().dtype, model.graph.input_value().shape.nhwc());
  std::size_t filled = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    const formats::Image image = file_.kind == InputKind::kCifar
                                     ? formats::read_cifar(file_.path, first_ + picture + n).image
                                     : formats::read_image(file_.path);
    const Tensor tensor = preprocess(image, *model.sidecar, one);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(),
              input.bytes.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += tensor.bytes.size();
  }
  return input;
}

ModelInput read_input(const NetworkRequest& request, const InputOptions& options,
                      const ArchConfig& config, const Model& model, bool no_data) {
  if (no_data && options.input.empty()) {
    const Value& value = model.graph.input_value();
    return {"", "", shape_alone(value.dtype, value.shape.nhwc())};
  }
  const InputSource source(request, options, config, model);
  return {source.name(), source.path(), source.at(model, 0)};
}

}  // namespace qsim::cli
