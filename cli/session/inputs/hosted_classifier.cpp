#include "cli/session/inputs/hosted_classifier.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/host_tensors/classes.h"
#include "cli/host_tensors/preprocess.h"
#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kColours = 3;

[[noreturn]] void refuse_form(const HostedModel& model, const std::string& what) {
  throw_bad_input("model '" + echoed(model.name) + "': " + what +
                  "; eval needs a network of one input of pictures, and of one output [1, "
                  "classes] in float32 or 8-bit levels");
}

const HostValue& only_value(const HostedModel& model, const std::vector<HostValueId>& ids,
                            const char* what) {
  if (ids.size() == 1) return model.hosted.network.values[ids.front()];
  refuse_form(model, "has " + std::to_string(ids.size()) + " " + what);
}

// [1, ...]: as the file says, else as the sidecar does, which is ONNX's [N, C, H, W].
Shape shape_of_one(const HostedModel& model, const HostValue& input,
                   const std::optional<formats::Sidecar>& sidecar) {
  Shape shape;
  if (input.array.has_shape()) {
    shape = input.array.tensor.shape;
  } else if (sidecar) {
    shape = {1, kColours, sidecar->resize_height, sidecar->resize_width};
  }
  if (shape.size() != 4 && shape.size() != 2) {
    refuse_form(model, "its input '" + echoed(input.name) + "' is " +
                           (shape.empty() ? "of unknown size" : shape_text(shape)));
  }
  shape.front() = 1;
  return shape;
}

bool is_channels_last(const Shape& shape) {
  return shape.size() == 4 && shape[1] != kColours && shape[3] == kColours;
}

ImageShape picture_shape(const Shape& shape) {
  if (shape.size() == 2) return {1, 1, 1, shape[1]};
  if (is_channels_last(shape)) return {1, shape[1], shape[2], shape[3]};
  return {1, shape[2], shape[3], shape[1]};
}

// Of an input that a DequantizeLinear with one constant scale reads: what its levels stand for.
Value levels_of(const HostedModel& model, const ImageShape& shape) {
  const HostNetwork& network = model.hosted.network;
  const HostValueId input = network.inputs.front();
  for (const HostNode& node : network.nodes) {
    if (node.op != "DequantizeLinear" || node.inputs.front() != input) continue;
    const HostArray& scale = network.values[node.inputs[1]].array;
    if (!scale.has_values() || scale.tensor.elems() != 1) continue;
    Value value{shape, network.values[input].array.tensor.dtype, 0, {}};
    value.scale = Scale::of(scale.tensor.as<float>().front());
    if (node.inputs.size() < 3 || node.inputs[2] == kAbsentValue) return value;
    const Tensor& zero = network.values[node.inputs[2]].array.tensor;
    if (zero.bytes.empty()) continue;
    value.zero_point =
        value.is_unsigned() ? zero.as<std::uint8_t>().front() : zero.as<std::int8_t>().front();
    return value;
  }
  refuse_form(model, "its input has levels of unknown scale");
}

bool is_level(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

std::int64_t classes_of_output(const HostedModel& model) {
  const HostArray& output = only_value(model, model.hosted.network.outputs, "outputs").array;
  if (!output.has_shape()) refuse_form(model, "the shape of its output depends on data");
  const Tensor& tensor = output.tensor;
  const bool is_row = !tensor.shape.empty() && tensor.shape.front() == 1 && tensor.shape.size() > 1;
  if (is_row && element_count(tensor.shape) == tensor.shape[1] && tensor.shape[1] > 1 &&
      (is_level(tensor.dtype) || tensor.dtype == DType::kFloat32)) {
    return tensor.shape[1];
  }
  refuse_form(model, "its output is " + std::string(dtype_name(tensor.dtype)) + " " +
                         shape_text(tensor.shape));
}

void require_label_count(const std::optional<formats::Sidecar>& sidecar, std::int64_t classes) {
  if (!sidecar || sidecar->labels.empty()) return;
  const std::int64_t labels = std::ssize(sidecar->labels);
  if (labels == classes) return;
  throw_bad_input(sidecar->file + ": " + std::to_string(labels) + " labels; expected " +
                  std::to_string(classes) + ", one for each output of the model");
}

bool moves_or_rounds(std::string_view op) {
  return op == "DequantizeLinear" || op == "QuantizeLinear" || only_reshapes(op);
}

// Whether a Softmax makes the value, but for what moves or rounds it.
bool is_of_softmax(const HostNetwork& network, HostValueId id) {
  for (auto node = network.nodes.rbegin(); node != network.nodes.rend(); ++node) {
    if (std::ranges::count(node->outputs, id) == 0) continue;
    if (!moves_or_rounds(node->op)) return node->op == "Softmax";
    id = node->inputs.front();
  }
  return false;
}

}  // namespace

HostedClassifier load_classifier(
    const NetworkRequest& request, const ArchConfig& config,
    const std::function<HostedModel(const std::map<std::string, Shape>&)>& load) {
  HostedClassifier classifier;
  std::map<std::string, Shape> shapes;
  {
    const HostedModel first = load_on_host(request, config, {});
    const HostValue& input = only_value(first, first.hosted.network.inputs, "inputs");
    classifier.form.sidecar = formats::load_sidecar_of(first.path);
    classifier.input = shape_of_one(first, input, classifier.form.sidecar);
    shapes[input.name] = classifier.input;
  }
  classifier.model = load(shapes);
  const HostedModel& model = classifier.model;
  const HostValue& input = only_value(model, model.hosted.network.inputs, "inputs");
  PictureForm& form = classifier.form;
  form.input.graph = model.name;
  form.input.value.shape = picture_shape(classifier.input);
  form.input.layout = is_channels_last(classifier.input) ? HostInterface::Layout::kNhwc
                                                         : HostInterface::Layout::kNchw;
  form.model = model.name;
  form.path = model.path;
  const DType dtype = input.array.tensor.dtype;
  if (is_level(dtype)) {
    classifier.levels = levels_of(model, form.input.value.shape);
  } else if (dtype != DType::kFloat32) {
    refuse_form(model, "its input is " + std::string(dtype_name(dtype)));
  }
  classifier.classes = form.classes = classes_of_output(model);
  require_label_count(form.sidecar, classifier.classes);
  return classifier;
}

Tensor host_input(const HostedClassifier& classifier, const PictureSet& pictures,
                  std::int64_t picture) {
  const ImageShape& shape = classifier.form.input.value.shape;
  Tensor nhwc = classifier.levels ? Tensor(classifier.levels->dtype, shape.nhwc())
                                  : pictures.read(picture, 1);
  if (classifier.levels) pictures.read_levels(picture, *classifier.levels, nhwc.bytes);
  if (classifier.form.input.layout == HostInterface::Layout::kNhwc || shape.channels == 1) {
    nhwc.shape = classifier.input;
    return nhwc;
  }
  Tensor nchw(nhwc.dtype, classifier.input);
  const std::size_t size = dtype_bytes(nhwc.dtype);
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    for (std::size_t c = 0; c < channels; ++c) {
      std::copy_n(nhwc.bytes.data() + (pixel * channels + c) * size, size,
                  nchw.bytes.data() + (c * pixels + pixel) * size);
    }
  }
  return nchw;
}

std::optional<std::vector<double>> class_scores(const Tensor& output) {
  const Shape& shape = output.shape;
  if (shape.size() < 2 || shape[0] != 1 || shape[1] < 2 || element_count(shape) != shape[1]) {
    return std::nullopt;
  }
  const auto scores = [](const auto& numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  if (output.dtype == DType::kFloat32) return scores(output.as<float>());
  if (output.dtype == DType::kInt8) return scores(output.as<std::int8_t>());
  if (output.dtype == DType::kUint8) return scores(output.as<std::uint8_t>());
  return std::nullopt;
}

std::vector<report::OutputClass> best_host_classes(const HostedModel& model, const Tensor& output,
                                                   std::size_t count) {
  const HostNetwork& network = model.hosted.network;
  const std::optional<std::vector<double>> scores = class_scores(output);
  if (!scores || network.outputs.size() != 1) return {};
  const std::optional<formats::Sidecar> sidecar = formats::load_sidecar_of(model.path);
  require_label_count(sidecar, std::ssize(*scores));
  std::vector<report::OutputClass> classes =
      top_classes(*scores, output.dtype == DType::kFloat32,
                  sidecar ? sidecar->labels : std::vector<std::string>(), count);
  if (output.dtype != DType::kFloat32 || !is_of_softmax(network, network.outputs.front())) {
    return classes;
  }
  for (report::OutputClass& entry : classes) entry.probability = entry.score;
  return classes;
}

}  // namespace qsim::cli
