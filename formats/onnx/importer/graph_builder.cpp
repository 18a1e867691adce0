#include "formats/onnx/importer/graph_builder.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/printable.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

constexpr const char* kPadFunction = "pad";

void check_size(const NodeReader& node, const ImageShape& shape, Axes axes,
                const std::string& from) {
  for (const std::int64_t dim : shape.nhwc()) {
    if (dim >= 1) continue;
    node.malformed("an output of shape " + shape_text(onnx_shape(shape, axes)) + " from " + from,
                   "at least one element");
  }
  const std::int64_t elems = element_count(shape.nhwc());
  if (elems <= kMaxTensorElems) return;
  throw_unsupported(node.layer_name() + ": a tensor of " + std::to_string(elems) +
                    " elements; supported: at most " + std::to_string(kMaxTensorElems));
}

// A convolution that copies: 1x1, a group a channel, weight 1, scale 1.
Conv2d copying_convolution(const Value& value, const Pads& pads, RequantizerRounding rounding) {
  const std::int64_t channels = value.shape.channels;
  Conv2d conv;
  conv.groups = channels;
  conv.window.pad_top = pads.top;
  conv.window.pad_left = pads.left;
  conv.window.pad_bottom = pads.bottom;
  conv.window.pad_right = pads.right;
  conv.weights = Tensor(DType::kInt8, {channels, 1, 1, 1});
  std::ranges::fill(conv.weights.as<std::int8_t>(), std::int8_t{1});
  conv.bias = Tensor(DType::kInt32, {channels});
  conv.requantization = {RoundingMode::kHalfEven, {}, value.min(), value.max(), {}};
  conv.requantization.requantizers = {requantizer_of(Scale::power_of_two(0), rounding)};
  return conv;
}

}  // namespace

GraphBuilder::GraphBuilder(const ModelGraph& model, std::int64_t batch,
                           RequantizerRounding rounding)
    : model_(model), rounding_(rounding) {
  start(batch);
}

Quantization GraphBuilder::quantization(const ImportedTensor& tensor) const {
  const Value& known = value(tensor);
  return {known.dtype, known.zero_point, known.scale.value_or(Scale::power_of_two(0))};
}

const ImportedTensor* GraphBuilder::find(const NodeReader& node, int index) const {
  if (!node.has_input(index)) return nullptr;
  const auto found = tensors_.find(node.input(index));
  return found == tensors_.end() ? nullptr : &found->second;
}

const ImportedTensor& GraphBuilder::tensor(const NodeReader& node, int index) const {
  const ImportedTensor* found = find(node, index);
  if (!node.has_input(index)) {
    node.malformed("input " + std::to_string(index) + " is absent", "a tensor");
  }
  if (found == nullptr) {
    node.refuse(
        "input " + std::to_string(index) + " '" + echoed(node.input(index)) + "' is a constant",
        "a tensor that the graph computes");
  }
  return *found;
}

void GraphBuilder::define(const NodeReader& node, ImportedTensor tensor) {
  tensors_[node.output()] = std::move(tensor);
}

void GraphBuilder::define_open(const NodeReader& node, std::shared_ptr<OpenLayer> layer) {
  ImportedTensor tensor{Kind::kOpen};
  tensor.axes = layer->axes;
  tensor.open = std::move(layer);
  define(node, std::move(tensor));
}

void GraphBuilder::define_moved(const NodeReader& node, const ImportedTensor& input,
                                Operation operation, const ImageShape& shape, Axes axes) {
  ImportedTensor result = input;
  result.id = add_layer(node, node.layer_name(), std::move(operation), {input}, shape, axes).id;
  result.axes = axes;
  define(node, std::move(result));
}

void GraphBuilder::refuse_kind(const NodeReader& node, const ImportedTensor& tensor,
                               bool wants_levels) const {
  const std::string wanted =
      wants_levels ? "int8 or uint8, after a QuantizeLinear" : "float32 after a DequantizeLinear";
  switch (tensor.kind) {
    case Kind::kReal:
      node.refuse("reads the float32 input", wanted);
    case Kind::kLevels:
      node.refuse("reads 8-bit numbers", wanted);
    case Kind::kReals:
      if (!tensor.function) node.refuse("reads float32 after DequantizeLinear", wanted);
      node.refuse("reads float32 numbers of an activation",
                  "a QuantizeLinear and a DequantizeLinear between the two");
    case Kind::kOpen:
      node.refuse(
          "reads float32 numbers of '" + echoed(qsim::formats::layer_name(tensor.open->node)) + "'",
          "a QuantizeLinear and a DequantizeLinear between the two");
    case Kind::kConstant:
      node.refuse("reads a constant", "a tensor that the graph computes");
    case Kind::kHost:
      node.refuse("reads what Softmax or ArgMax gives",
                  "Softmax and ArgMax at the end of the graph only");
  }
  QSIM_CHECK(false, "a tensor of no kind");
}

ImportedTensor GraphBuilder::levels(const NodeReader& node, int index) const {
  const ImportedTensor& found = tensor(node, index);
  if (found.kind != Kind::kLevels) refuse_kind(node, found, true);
  return found;
}

ImportedTensor GraphBuilder::moved(const NodeReader& node, int index) const {
  const ImportedTensor& found = tensor(node, index);
  const bool is_moved =
      found.kind == Kind::kReal || found.kind == Kind::kLevels || found.kind == Kind::kReals;
  if (!is_moved) refuse_kind(node, found, true);
  return found;
}

ImportedTensor GraphBuilder::levels(const NodeReader& node, int index, Axes axes) const {
  ImportedTensor found = levels(node, index);
  require_axes(node, found, axes);
  return found;
}

ImportedTensor GraphBuilder::levels(const NodeReader& node, int index,
                                    const Quantization& quantization) {
  ImportedTensor found = levels(node, index);
  agree(node, found, quantization);
  return found;
}

ImportedTensor GraphBuilder::dequantized(const NodeReader& node, int index) const {
  ImportedTensor found = tensor(node, index);
  if (found.kind != Kind::kReals || found.function) refuse_kind(node, found, false);
  found.kind = Kind::kLevels;
  return found;
}

void GraphBuilder::require_axes(const NodeReader& node, const ImportedTensor& tensor,
                                Axes axes) const {
  if (tensor.axes == axes) return;
  node.refuse("reads a tensor " + axes_name(tensor.axes) + " = " +
                  shape_text(onnx_shape(shape(tensor), tensor.axes)),
              axes_name(axes));
}

void GraphBuilder::agree(const NodeReader& node, const ImportedTensor& tensor,
                         const Quantization& quantization) {
  const Value& known = value(tensor);
  if (quantization.dtype != known.dtype) {
    node.malformed(
        "zero_point of the tensor it reads is " + std::string(dtype_name(quantization.dtype)),
        std::string(dtype_name(known.dtype)) + ", as the tensor is");
  }
  if (!known.scale) return adopt(node, quantization);
  const Quantization own = this->quantization(tensor);
  if (own == quantization) return;
  node.refuse("reads its input as " + quantization_text(quantization),
              "the tensor's own " + quantization_text(own));
}

// Gives the input and the layers so far that have its quantization, none of which changes it, the
// first one that the file names.
void GraphBuilder::adopt(const NodeReader& node, const Quantization& quantization) {
  for (const Layer& layer : graph_.layers) {
    if (graph_.tensors[layer.output].scale || quantization.zero_point == 0) continue;
    if (!std::holds_alternative<Relu>(layer.operation)) continue;
    node.refuse("zero_point " + std::to_string(quantization.zero_point) +
                    " of a tensor that Relu '" + echoed(layer.name) + "' has cut off at 0",
                "zero_point 0 around Relu");
  }
  check_zero_point(node, quantization.zero_point);
  for (Value& tensor : graph_.tensors) {
    if (tensor.scale) continue;
    tensor.zero_point = quantization.zero_point;
    tensor.scale = quantization.scale;
  }
}

ImportedTensor GraphBuilder::add_layer(const NodeReader& node, const std::string& name,
                                       Operation operation,
                                       const std::vector<ImportedTensor>& inputs,
                                       const ImageShape& shape, Axes axes,
                                       const std::optional<Quantization>& quantization) {
  check_size(node, shape, axes, shape_text(onnx_shape(this->shape(inputs[0]), inputs[0].axes)));
  Value output = value(inputs[0]);
  output.shape = shape;
  if (quantization) {
    output = {shape, quantization->dtype, quantization->zero_point, quantization->scale};
  }
  std::vector<TensorId> ids;
  for (const ImportedTensor& input : inputs) ids.push_back(input.id);
  ImportedTensor result{ImportedTensor::Kind::kLevels};
  result.id = append(graph_, name, std::move(operation), std::move(ids), output, node.location());
  result.axes = axes;
  return result;
}

ImportedTensor GraphBuilder::add_table(const NodeReader& node, const std::string& name,
                                       const std::string& function, const ImportedTensor& input,
                                       const ByteTable& bytes, const Quantization& output) {
  const Table* before = table_of(input.id);
  Table table{before == nullptr ? input.id : before->input, bytes};
  for (std::size_t i = 0; before != nullptr && i < bytes.size(); ++i) {
    table.bytes[i] = bytes[before->bytes[i]];
  }
  const ImportedTensor result = add_layer(node, name, LookupTable{function, bytes}, {input},
                                          value(input).shape, input.axes, output);
  tables_[result.id] = table;
  return result;
}

const GraphBuilder::Table* GraphBuilder::table_of(TensorId id) const {
  const auto found = tables_.find(id);
  return found == tables_.end() ? nullptr : &found->second;
}

ImportedTensor GraphBuilder::without_pads(const NodeReader& node, const ImportedTensor& tensor) {
  if (tensor.pads == Pads{}) return tensor;
  return add_layer(node,
                   node.layer_name() + "/" + kPadFunction + std::to_string(graph_.layers.size()),
                   copying_convolution(value(tensor), tensor.pads, rounding_), {tensor},
                   shape(tensor), tensor.axes);
}

void GraphBuilder::check_zero_point(const NodeReader& node, std::int32_t zero_point) const {
  for (const std::int32_t expected : expected_zero_points_) {
    if (expected == zero_point) continue;
    node.refuse("zero_point " + std::to_string(zero_point) + " of a tensor that a Pad fills with " +
                    std::to_string(expected),
                "pads of the zero_point");
  }
}

void GraphBuilder::expect_zero_point(std::int32_t zero_point) {
  expected_zero_points_.push_back(zero_point);
}

bool GraphBuilder::reinterpret_input_as_nhwc(const NodeReader& node) {
  using Layout = HostInterface::Layout;
  const ImportedTensor& input = tensor(node, 0);
  const bool is_read_once = std::all_of(tensors_.begin(), tensors_.end(), [&](const auto& entry) {
    return entry.second.id != graph_.input || model_.reads_of(entry.first) <= 1;
  });
  const bool untouched = graph_.layers.empty() && input.axes == Axes::kNchw && is_read_once &&
                         input.pads == Pads{} && graph_.host.layout == Layout::kNchw;
  if (!untouched) return false;
  ImageShape& shape = graph_.input_value().shape;
  shape = {shape.batch, shape.channels, shape.height, shape.width};
  graph_.host.layout = Layout::kNhwc;
  return true;
}

}  // namespace qsim::formats
