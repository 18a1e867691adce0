#include "tests/onnx/onnx_writer.h"

#include <cmath>
#include <fstream>
#include <optional>

#include <onnx/onnx_pb.h>

#include "core/base/error.h"
#include "formats/onnx/types/element_types.h"

namespace qsim {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor channels_first(const Tensor& weights) {
  const Shape& s = weights.shape;
  if (weights.dtype != DType::kInt8) throw_unsupported("weights of nine bits are not written");
  Tensor result(DType::kInt8, {s[0], s[3], s[1], s[2]});
  const std::int64_t taps = s[1] * s[2];
  std::int8_t* to = result.as<std::int8_t>().data();
  const std::int8_t* from = weights.as<std::int8_t>().data();
  for (std::int64_t m = 0; m < s[0]; ++m) {
    for (std::int64_t c = 0; c < s[3]; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) *to++ = from[(m * taps + tap) * s[3] + c];
    }
  }
  return result;
}

float real_scale(const Value& value) { return value.scale ? value.scale->real() : 1.0F; }

// The scale of the weights at which ONNX Runtime has `scale`: (x * w) / y == scale in float32.
std::optional<float> weight_scale(float scale, float x, float y) {
  const float nearest = static_cast<float>(static_cast<double>(scale) * y / x);
  float below = nearest;
  float above = nearest;
  for (int i = 0; i < 4; ++i) {
    if (std::isnormal(below) && (x * below) / y == scale) return below;
    if (std::isnormal(above) && (x * above) / y == scale) return above;
    below = std::nextafter(below, 0.0F);
    above = std::nextafter(above, 2 * above);
  }
  return std::nullopt;
}

// Writes node after node; `tensor_` is what the next one reads, and `flat_` whether that is [N][C].
class ModelWriter {
 public:
  explicit ModelWriter(const Graph& graph) : graph_(graph) {}

  onnx::ModelProto write();

 private:
  void write_head();
  void write_tail();
  void write(const Layer& layer, const Conv2d& conv, const Value& input);
  void write(const Layer& layer, const FullyConnected& fc, const Value& input);
  void write(const Layer& layer, const MaxPool& pool, const Value& input);
  void write(const Layer& layer, const Relu& relu, const Value& input);
  void write(const Layer& layer, const Flatten& flatten, const Value& input);
  void write(const Layer& layer, const AveragePool& pool, const Value& input);
  void write(const Layer& layer, const Add& add, const Value& input);
  void write(const Layer& layer, const Concat& concat, const Value& input);
  template <typename Other>
  void write(const Layer& layer, const Other&, const Value&) {
    throw_unsupported(layer.name + ": " + std::string(Other::kRow.name) +
                      " is not written as ONNX");
  }

  onnx::NodeProto& add_node(const char* op_type, const std::string& name);
  void add_ints(onnx::NodeProto& node, const char* name, const Ints& values);
  void add_int(onnx::NodeProto& node, const char* name, std::int64_t value);
  void add_window(onnx::NodeProto& node, const Window& window);
  void add_ceil_mode(onnx::NodeProto& node, const Layer& layer, const Window& window,
                     const Value& input);
  void add_transpose(const std::string& name, const Ints& perm);
  void add_relu(const std::string& name);
  std::string constant(const std::string& name, const Tensor& tensor);
  void add_quantization(onnx::NodeProto& node, const std::string& name, const Value& value);
  void add_weight_scales(onnx::NodeProto& node, const Layer& layer, const Value& input,
                         const Requantization& requantization);
  void add_clamp(const Layer& layer, std::int32_t lo, std::int32_t hi);
  void require_float32(const Layer& layer, RequantizerRounding rounding) const;
  void declare(onnx::ValueInfoProto& info, const std::string& name, const Value& value,
               bool is_float, bool flat);
  void require_picture(const Layer& layer) const;

  const Graph& graph_;
  onnx::ModelProto model_;
  std::string tensor_ = "input";
  bool flat_ = false;
  // By tensor of the graph.
  std::vector<std::string> names_;
  std::vector<bool> are_flat_;
  std::int64_t opset_ = 13;
};

onnx::NodeProto& ModelWriter::add_node(const char* op_type, const std::string& name) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  node.add_input(tensor_);
  tensor_ = name + ".out";
  node.add_output(tensor_);
  return node;
}

void ModelWriter::add_ints(onnx::NodeProto& node, const char* name, const Ints& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void ModelWriter::add_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void ModelWriter::add_window(onnx::NodeProto& node, const Window& w) {
  add_ints(node, "kernel_shape", {w.kernel_h, w.kernel_w});
  add_ints(node, "strides", {w.stride_h, w.stride_w});
  add_ints(node, "pads", {w.pad_top, w.pad_left, w.pad_bottom, w.pad_right});
  if (w.dilation_h != 1 || w.dilation_w != 1) {
    add_ints(node, "dilations", {w.dilation_h, w.dilation_w});
  }
}

void ModelWriter::add_ceil_mode(onnx::NodeProto& node, const Layer& layer, const Window& w,
                                const Value& input) {
  const ImageShape& in = input.shape;
  const ImageShape& out = graph_.tensors[layer.output].shape;
  const bool floor =
      window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom) == out.height &&
      window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right) == out.width;
  add_int(node, "ceil_mode", floor ? 0 : 1);
}

void ModelWriter::add_transpose(const std::string& name, const Ints& perm) {
  add_ints(add_node("Transpose", name), "perm", perm);
}

void ModelWriter::add_relu(const std::string& name) {
  add_node("Relu", name);
  opset_ = 14;  // the first with an int8 Relu
}

std::string ModelWriter::constant(const std::string& name, const Tensor& tensor) {
  onnx::TensorProto& proto = *model_.mutable_graph()->add_initializer();
  proto.set_name(name);
  proto.set_data_type(formats::onnx_dtype(tensor.dtype));
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  return name;
}

Tensor scales(const Shape& shape, const std::vector<float>& values, const std::string& name) {
  Tensor tensor(DType::kFloat32, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnormal(values[i])) {
      throw_unsupported("layer '" + name + "': scale " + std::to_string(values[i]) +
                        " is no normal float32");
    }
    tensor.as<float>()[i] = values[i];
  }
  return tensor;
}

void ModelWriter::add_quantization(onnx::NodeProto& node, const std::string& name,
                                   const Value& value) {
  Tensor zero(value.dtype, {});
  zero.bytes[0] = static_cast<std::byte>(value.zero_point);
  node.add_input(constant(name + "_scale", scales({}, {real_scale(value)}, name)));
  node.add_input(constant(name + "_zero_point", zero));
}

void ModelWriter::require_float32(const Layer& layer, RequantizerRounding rounding) const {
  if (rounding == RequantizerRounding::kFloat32) return;
  throw_unsupported("layer '" + layer.name + "': ONNX Runtime rounds as float32 only");
}

// A shift is the scale 2^-shift.
void ModelWriter::add_weight_scales(onnx::NodeProto& node, const Layer& layer, const Value& input,
                                    const Requantization& requantization) {
  if (!requantization.is_dyadic() && requantization.rounding != RoundingMode::kHalfEven) {
    throw_unsupported("layer '" + layer.name + "': ONNX rounds half_even only");
  }
  const float x = real_scale(input);
  const float y = real_scale(graph_.tensors[layer.output]);
  std::vector<float> values;
  for (const int shift : requantization.shifts) {
    values.push_back(std::ldexp(1.0F, -shift) * y / x);
  }
  for (const Requantizer& requantizer : requantization.requantizers) {
    require_float32(layer, requantizer.rounding);
    const auto found = weight_scale(qsim::real_scale(requantizer), x, y);
    if (!found) throw_unsupported("layer '" + layer.name + "': no float32 scale of its weights");
    values.push_back(*found);
  }
  const auto count = static_cast<std::int64_t>(values.size());
  const Shape shape = count == 1 ? Shape{} : Shape{count};
  node.add_input(constant(layer.name + ".w_scale", scales(shape, values, layer.name)));
  node.add_input(constant(layer.name + ".w_zero_point", Tensor(DType::kInt8, shape)));
}

void ModelWriter::add_clamp(const Layer& layer, std::int32_t lo, std::int32_t hi) {
  const Value& output = graph_.tensors[layer.output];
  const bool relu = lo == 0 && output.zero_point == 0 && !output.is_unsigned();
  if (hi != output.max() || (lo != output.min() && !relu)) {
    throw_unsupported("layer '" + layer.name + "': ONNX cannot clamp to " + std::to_string(lo) +
                      ".." + std::to_string(hi));
  }
  if (relu) add_relu(layer.name + ".relu");
}

void ModelWriter::require_picture(const Layer& layer) const {
  if (flat_) throw_unsupported("layer '" + layer.name + "': reads a flat tensor");
}

void ModelWriter::write(const Layer& layer, const Conv2d& conv, const Value& input) {
  require_picture(layer);
  onnx::NodeProto& node = add_node("QLinearConv", layer.name);
  add_quantization(node, layer.name + ".x", input);
  node.add_input(constant(layer.name + ".w", channels_first(conv.weights)));
  add_weight_scales(node, layer, input, conv.requantization);
  add_quantization(node, layer.name + ".y", graph_.tensors[layer.output]);
  node.add_input(constant(layer.name + ".bias", conv.bias));
  add_window(node, conv.window);
  if (conv.groups != 1) add_int(node, "group", conv.groups);
  add_clamp(layer, conv.requantization.lo, conv.requantization.hi);
}

void ModelWriter::write(const Layer& layer, const FullyConnected& fc, const Value& input) {
  if (!flat_) add_node("Flatten", layer.name + ".flatten");
  flat_ = true;
  onnx::NodeProto& node = add_node("QGemm", layer.name);
  node.set_domain("com.microsoft");
  add_quantization(node, layer.name + ".a", input);
  node.add_input(constant(layer.name + ".b", fc.weights));
  add_weight_scales(node, layer, input, fc.requantization);
  node.add_input(constant(layer.name + ".bias", fc.bias));
  add_quantization(node, layer.name + ".y", graph_.tensors[layer.output]);
  add_int(node, "transB", 1);
  add_clamp(layer, fc.requantization.lo, fc.requantization.hi);
}

void ModelWriter::write(const Layer& layer, const MaxPool& pool, const Value& input) {
  require_picture(layer);
  onnx::NodeProto& node = add_node("MaxPool", layer.name);
  add_window(node, pool.window);
  add_ceil_mode(node, layer, pool.window, input);
}

void ModelWriter::write(const Layer& layer, const AveragePool& pool, const Value& input) {
  require_picture(layer);
  require_float32(layer, pool.rounding);
  const Window& w = pool.window;
  const bool global = w.kernel_h == input.shape.height && w.kernel_w == input.shape.width &&
                      w.pad_top + w.pad_bottom + w.pad_left + w.pad_right == 0;
  onnx::NodeProto& node =
      add_node(global ? "QLinearGlobalAveragePool" : "QLinearAveragePool", layer.name);
  node.set_domain("com.microsoft");
  add_quantization(node, layer.name + ".x", input);
  add_quantization(node, layer.name + ".y", graph_.tensors[layer.output]);
  if (!global) {
    add_window(node, w);
    add_int(node, "count_include_pad", pool.count_include_pad ? 1 : 0);
    add_ceil_mode(node, layer, w, input);
  }
  add_clamp(layer, pool.lo, pool.hi);
}

void ModelWriter::write(const Layer& layer, const Add& add, const Value& input) {
  require_float32(layer, add.rounding);
  onnx::NodeProto& node = add_node("QLinearAdd", layer.name);
  node.set_domain("com.microsoft");
  add_quantization(node, layer.name + ".a", input);
  node.add_input(names_[layer.inputs[1]]);
  add_quantization(node, layer.name + ".b", graph_.tensors[layer.inputs[1]]);
  add_quantization(node, layer.name + ".c", graph_.tensors[layer.output]);
  add_clamp(layer, add.lo, add.hi);
}

void ModelWriter::write(const Layer& layer, const Concat&, const Value&) {
  onnx::NodeProto& node = add_node("Concat", layer.name);
  for (std::size_t i = 1; i < layer.inputs.size(); ++i) node.add_input(names_[layer.inputs[i]]);
  add_int(node, "axis", 1);
}

void ModelWriter::write(const Layer& layer, const Relu&, const Value& input) {
  if (input.zero_point == input.min()) return;
  if (input.is_unsigned() || input.zero_point != 0) {
    throw_unsupported("layer '" + layer.name + "': ONNX has no Relu at zero_point " +
                      std::to_string(input.zero_point));
  }
  add_relu(layer.name);
}

void ModelWriter::write(const Layer& layer, const Flatten& flatten, const Value&) {
  if (flatten.order == Flatten::Order::kHwc && !flat_) {
    add_transpose(layer.name + ".nhwc", {0, 2, 3, 1});
  }
  add_int(add_node("Flatten", layer.name), "axis", 1);
  flat_ = true;
}

void ModelWriter::declare(onnx::ValueInfoProto& info, const std::string& name, const Value& value,
                          bool is_float, bool flat) {
  info.set_name(name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(is_float ? onnx::TensorProto::FLOAT : formats::onnx_dtype(value.dtype));
  const ImageShape& s = value.shape;
  Shape shape = s.nhwc();
  if (graph_.host.layout == HostInterface::Layout::kNchw) {
    shape = {s.batch, s.channels, s.height, s.width};
  }
  if (flat) shape = {s.batch, s.channels};
  for (const std::int64_t dim : shape) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

void ModelWriter::write_head() {
  flat_ = std::holds_alternative<FullyConnected>(graph_.layers[0].operation);
  declare(*model_.mutable_graph()->add_input(), tensor_, graph_.input_value(),
          graph_.host.float_input, flat_);
  if (graph_.host.float_input) {
    add_quantization(add_node("QuantizeLinear", "quantize"), "quantize.y", graph_.input_value());
  }
  if (graph_.host.layout == HostInterface::Layout::kNhwc && !flat_) {
    add_transpose("nchw", {0, 3, 1, 2});
  }
}

void ModelWriter::write_tail() {
  const Value& output = graph_.output_value();
  if (graph_.host.layout == HostInterface::Layout::kNhwc && !flat_) {
    add_transpose("nhwc", {0, 2, 3, 1});
  }
  if (graph_.host.float_output) {
    add_quantization(add_node("DequantizeLinear", "dequantize"), "dequantize.x", output);
  }
  declare(*model_.mutable_graph()->add_output(), tensor_, output, graph_.host.float_output, flat_);
}

onnx::ModelProto ModelWriter::write() {
  model_.set_ir_version(8);
  model_.mutable_graph()->set_name(graph_.name);
  write_head();
  names_.resize(graph_.tensors.size());
  are_flat_.resize(graph_.tensors.size());
  names_[graph_.input] = tensor_;
  are_flat_[graph_.input] = flat_;
  for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
    const Layer& layer = graph_.layers[i];
    tensor_ = names_[layer.inputs[0]];
    flat_ = are_flat_[layer.inputs[0]];
    std::visit([&](const auto& operation) { write(layer, operation, graph_.input_of(i)); },
               layer.operation);
    names_[layer.output] = tensor_;
    are_flat_[layer.output] = flat_;
  }
  write_tail();
  model_.add_opset_import()->set_version(opset_);
  model_.add_opset_import()->set_domain("com.microsoft");
  model_.mutable_opset_import(1)->set_version(1);
  return std::move(model_);
}

}  // namespace

void write_onnx(const Graph& graph, const std::filesystem::path& path) {
  if (!graph.host.tail.is_empty()) throw_unsupported("the writer has no Softmax and ArgMax");
  const onnx::ModelProto model = ModelWriter(graph).write();
  std::ofstream file(path, std::ios::binary);
  if (!model.SerializeToOstream(&file) || !file.flush()) {
    throw_bad_input(path.string() + ": cannot be written");
  }
}

}  // namespace qsim
