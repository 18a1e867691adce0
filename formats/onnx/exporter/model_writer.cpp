#include "formats/onnx/exporter/model_writer.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace qsim::formats {
namespace {

// Of ONNX 1.9 on: the first opset with Relu of int8 and HardSwish.
constexpr std::int64_t kIrVersion = 7;
constexpr std::int64_t kOpset = 14;
constexpr std::int64_t kMicrosoftOpset = 1;

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const char* name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void declare(onnx::ValueInfoProto& info, const std::string& name, onnx::TensorProto::DataType type,
             const Shape& shape) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (i == 0 && shape[0] == 1) {
      dim.set_dim_param("N");
    } else {
      dim.set_dim_value(shape[i]);
    }
  }
}

void add_opset(onnx::ModelProto& model, const char* domain, std::int64_t version) {
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

}  // namespace

std::string serialized(const onnx::ModelProto& model) {
  const std::size_t bytes = model.ByteSizeLong();
  constexpr auto kMostBytes = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (bytes > kMostBytes) {
    throw_bad_input("network '" + model.graph().name() + "': an ONNX file of " +
                    std::to_string(bytes) + " bytes or more; expected at most " +
                    std::to_string(kMostBytes) + ", which is what protobuf allows");
  }
  std::string result;
  QSIM_CHECK(model.SerializeToString(&result), "a model that protobuf does not write");
  return result;
}

void set_tensor(onnx::TensorProto& proto, const Tensor& tensor) {
  proto.set_data_type(onnx_dtype(tensor.dtype));
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_ints(onnx::NodeProto& node, const char* name, const Ints& values) {
  onnx::AttributeProto& attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void set_float(onnx::NodeProto& node, const char* name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_window(onnx::NodeProto& node, const Window& w) {
  set_ints(node, "kernel_shape", {w.kernel_h, w.kernel_w});
  set_ints(node, "strides", {w.stride_h, w.stride_w});
  set_ints(node, "pads", {w.pad_top, w.pad_left, w.pad_bottom, w.pad_right});
  if (w.dilation_h != 1 || w.dilation_w != 1) {
    set_ints(node, "dilations", {w.dilation_h, w.dilation_w});
  }
}

void set_ceil_mode(onnx::NodeProto& node, const Window& w, const ImageShape& in,
                   const ImageShape& out) {
  const bool floor =
      window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom) == out.height &&
      window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right) == out.width;
  set_int(node, "ceil_mode", floor ? 0 : 1);
}

void set_slope(onnx::NodeProto& node, const Activation& activation) {
  using Kind = Activation::Kind;
  if (activation.kind == Kind::kLeakyRelu || activation.kind == Kind::kHardSigmoid) {
    set_float(node, "alpha", activation.alpha);
  }
  if (activation.kind == Kind::kHardSigmoid) set_float(node, "beta", activation.beta);
}

const char* onnx_operator(Activation::Kind kind) {
  switch (kind) {
    case Activation::Kind::kRelu:
      return "Relu";
    case Activation::Kind::kClip:
      return "Clip";
    case Activation::Kind::kLeakyRelu:
      return "LeakyRelu";
    case Activation::Kind::kSigmoid:
      return "Sigmoid";
    case Activation::Kind::kHardSigmoid:
      return "HardSigmoid";
    case Activation::Kind::kHardSwish:
      return "HardSwish";
  }
  return "";
}

ModelWriter::ModelWriter(const Graph& graph) {
  for (const Layer& layer : graph.layers) taken_.insert(layer.name);
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("qsim");
  model_.mutable_graph()->set_name(graph.name);
}

std::string ModelWriter::new_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

onnx::NodeProto& ModelWriter::add_node(const char* op_type, const std::string& name,
                                       const TensorNames& inputs, const std::string& output) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::NodeProto& ModelWriter::add_node(const char* op_type, const std::string& wanted,
                                       const TensorNames& inputs) {
  const std::string name = new_name(wanted);
  return add_node(op_type, name, inputs, name);
}

std::string ModelWriter::add_arg_max(const std::string& tensor, bool keeps_axis, Shape& shape) {
  onnx::NodeProto& node = add_node("ArgMax", "output", {tensor});
  set_int(node, "axis", 1);
  set_int(node, "keepdims", keeps_axis ? 1 : 0);
  shape.resize(1);
  if (keeps_axis) shape.push_back(1);
  return node.output(0);
}

std::string ModelWriter::add_constant(const std::string& wanted, onnx::TensorProto::DataType type,
                                      const Shape& shape, std::string bytes) {
  onnx::TensorProto& proto = *model_.mutable_graph()->add_initializer();
  proto.set_name(new_name(wanted));
  proto.set_data_type(type);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  proto.set_raw_data(std::move(bytes));
  return proto.name();
}

std::string ModelWriter::add_constant(const std::string& wanted, const Tensor& tensor) {
  return add_constant(wanted, onnx_dtype(tensor.dtype), tensor.shape, bytes_of(tensor.bytes));
}

std::string ModelWriter::add_float(const std::string& wanted, float value) {
  return add_floats(wanted, {}, {value});
}

std::string ModelWriter::add_floats(const std::string& wanted, const Shape& shape,
                                    const std::vector<float>& values) {
  return add_constant(wanted, onnx::TensorProto::FLOAT, shape, bytes_of(values));
}

std::string ModelWriter::add_ints(const std::string& wanted, const Ints& values) {
  return add_constant(wanted, onnx::TensorProto::INT64, {std::ssize(values)}, bytes_of(values));
}

void ModelWriter::declare_input(const std::string& name, onnx::TensorProto::DataType type,
                                const Shape& shape) {
  declare(*model_.mutable_graph()->add_input(), name, type, shape);
}

void ModelWriter::declare_output(const std::string& name, onnx::TensorProto::DataType type,
                                 const Shape& shape) {
  declare(*model_.mutable_graph()->add_output(), name, type, shape);
}

onnx::ModelProto ModelWriter::finish() && {
  add_opset(model_, "", kOpset);
  const auto& nodes = model_.graph().node();
  if (std::ranges::any_of(nodes, [](const auto& node) { return node.domain() == kMicrosoft; })) {
    add_opset(model_, kMicrosoft, kMicrosoftOpset);
  }
  return std::move(model_);
}

}  // namespace qsim::formats
