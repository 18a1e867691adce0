#include "compiler/importer/graph_builder.h"

#include "compiler/importer/tensor_proto.h"
#include "compiler/importer/value_info.h"
#include "core/checked_math.h"
#include "core/limits.h"
#include "core/printable.h"

namespace qsim {
namespace {

std::string axes_name(Axes axes) {
  switch (axes) {
    case Axes::kNchw:
      return "[N, C, H, W]";
    case Axes::kNhwc:
      return "[N, H, W, C]";
    case Axes::kNk:
      return "[N, K]";
  }
  return "?";
}

std::string quantization_text(std::optional<int> scale_exponent, std::int32_t zero_point) {
  return "scale 2^" + std::to_string(-scale_exponent.value_or(0)) + ", zero_point " +
         std::to_string(zero_point);
}

// The sizes of `shape` in the order of an ONNX tensor's axes.
Shape onnx_shape(const ImageShape& shape, Axes axes) {
  switch (axes) {
    case Axes::kNchw:
      return {shape.batch, shape.channels, shape.height, shape.width};
    case Axes::kNhwc:
      return shape.nhwc();
    case Axes::kNk:
      return {shape.batch, shape.channels};
  }
  return {};
}

std::int64_t resolve_batch(std::int64_t declared, std::int64_t batch, const std::string& where) {
  if (declared == kSymbolic) return batch;
  if (batch != 1 && batch != declared) {
    throw_unsupported(where + ": the file fixes the batch at " + std::to_string(declared) +
                      ", but the run asks for " + std::to_string(batch) +
                      "; supported: " + std::to_string(declared));
  }
  return declared;
}

void check_input_shape(const Declaration& declaration, const std::string& where) {
  const std::size_t rank = declaration.shape.size();
  bool known = rank == 2 || rank == 4;
  for (std::size_t axis = 1; axis < rank; ++axis) known &= declaration.shape[axis] != kSymbolic;
  if (!known) {
    throw_unsupported(where + ": shape " +
                      (declaration.has_shape ? declared_shape_text(declaration) : "unknown") +
                      "; supported: [N, C, H, W], [N, H, W, C], [N, K]; only N may be unknown");
  }
}

// Whether an 8-bit or real tensor; sets the dtype of an 8-bit one.
Stage input_stage(int data_type, Value& input, const std::string& where) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return Stage::kReal;
    case onnx::TensorProto::INT8:
      input.dtype = DType::kInt8;
      return Stage::kQuantized;
    case onnx::TensorProto::UINT8:
      input.dtype = DType::kUint8;
      return Stage::kQuantized;
    default:
      throw_unsupported(where + ": is " + onnx_dtype_name(data_type) +
                        "; supported: float32, int8, uint8");
  }
}

void check_size(const ImageShape& shape, const std::string& where) {
  const std::int64_t elems = element_count(shape.nhwc());
  if (elems > kMaxTensorElems) {
    throw_unsupported(where + ": a tensor of " + std::to_string(elems) +
                      " elements; supported: at most " + std::to_string(kMaxTensorElems));
  }
}

}  // namespace

GraphBuilder::GraphBuilder(const ModelGraph& model, std::int64_t batch) {
  const std::string where = model.source + ": input '" + echoed(model.input->name()) + "'";
  const Declaration declaration = read_declaration(*model.input, where);
  check_input_shape(declaration, where);
  graph_.name = model.name;
  stage_ = input_stage(declaration.data_type, graph_.input_value(), where);
  ImageShape& shape = graph_.input_value().shape;
  shape.batch = resolve_batch(declaration.shape[0], batch, where);
  shape.channels = declaration.shape[1];
  axes_ = declaration.shape.size() == 2 ? Axes::kNk : Axes::kNchw;
  if (axes_ == Axes::kNchw) {
    shape.height = declaration.shape[2];
    shape.width = declaration.shape[3];
  }
  check_size(shape, where);
  graph_.host.layout = HostInterface::Layout::kNchw;
}

void GraphBuilder::require_quantized(const NodeReader& node) const {
  if (stage_ == Stage::kQuantized) return;
  node.refuse(stage_ == Stage::kReal ? "reads float32" : "reads float32 after DequantizeLinear",
              stage_ == Stage::kReal ? "int8 or uint8, after a QuantizeLinear"
                                     : "DequantizeLinear at the end of the graph only");
}

void GraphBuilder::require(const NodeReader& node, Axes axes) const {
  require_quantized(node);
  if (axes_ == axes) return;
  node.refuse(
      "reads a tensor " + axes_name(axes_) + " = " + shape_text(onnx_shape(value().shape, axes_)),
      axes_name(axes));
}

void GraphBuilder::quantize(const NodeReader& node, const Quantization& quantization) {
  if (stage_ != Stage::kReal) {
    node.refuse(stage_ == Stage::kQuantized ? "reads 8-bit numbers"
                                            : "reads float32 after DequantizeLinear",
                "QuantizeLinear of the float32 input only");
  }
  graph_.host.float_input = true;
  graph_.input_value().dtype = quantization.dtype;
  stage_ = Stage::kQuantized;
  adopt(node, quantization);
}

void GraphBuilder::dequantize(const NodeReader& node, const Quantization& quantization) {
  require_quantized(node);
  agree(node, quantization);
  graph_.host.float_output = true;
  stage_ = Stage::kDequantized;
}

void GraphBuilder::agree(const NodeReader& node, const Quantization& quantization) {
  const Value& tensor = value();
  if (quantization.dtype != tensor.dtype) {
    node.malformed(
        "zero_point of the tensor it reads is " + std::string(dtype_name(quantization.dtype)),
        std::string(dtype_name(tensor.dtype)) + ", as the tensor is");
  }
  if (!tensor.scale) return adopt(node, quantization);
  if (tensor.scale_exponent() == quantization.scale_exponent &&
      tensor.zero_point == quantization.zero_point) {
    return;
  }
  node.refuse("reads its input as " +
                  quantization_text(quantization.scale_exponent, quantization.zero_point),
              "the tensor's own " + quantization_text(tensor.scale_exponent(), tensor.zero_point));
}

// Gives the input and the layers so far, none of which changes a quantization, the first one that
// the file names.
void GraphBuilder::adopt(const NodeReader& node, const Quantization& quantization) {
  const auto take_over = [&](Value& tensor) {
    tensor.zero_point = quantization.zero_point;
    tensor.scale = Scale::power_of_two(-quantization.scale_exponent);
  };
  take_over(graph_.input_value());
  for (const Layer& layer : graph_.layers) {
    if (std::holds_alternative<Relu>(layer.operation) && quantization.zero_point != 0) {
      node.refuse("zero_point " + std::to_string(quantization.zero_point) +
                      " of a tensor that Relu '" + echoed(layer.name) + "' has cut off at 0",
                  "zero_point 0 around Relu");
    }
    take_over(graph_.tensors[layer.output]);
  }
}

void GraphBuilder::add_layer(const NodeReader& node, Operation operation, const ImageShape& shape,
                             Axes axes) {
  Value output = value();
  output.shape = shape;
  append(node, std::move(operation), output, axes);
}

void GraphBuilder::add_layer(const NodeReader& node, Operation operation, const ImageShape& shape,
                             Axes axes, const Quantization& quantization) {
  append(node, std::move(operation),
         Value{shape, quantization.dtype, quantization.zero_point,
               Scale::power_of_two(-quantization.scale_exponent)},
         axes);
}

void GraphBuilder::append(const NodeReader& node, Operation operation, const Value& output,
                          Axes axes) {
  for (const std::int64_t dim : output.shape.nhwc()) {
    if (dim < 1) {
      node.malformed("an output of shape " + shape_text(onnx_shape(output.shape, axes)) + " from " +
                         shape_text(onnx_shape(value().shape, axes_)),
                     "at least one element");
    }
  }
  check_size(output.shape, node.layer_name());
  qsim::append(graph_, node.layer_name(), std::move(operation), output, node.location());
  axes_ = axes;
}

bool GraphBuilder::reinterpret_input_as_nhwc() {
  using Layout = HostInterface::Layout;
  const bool untouched =
      graph_.layers.empty() && axes_ == Axes::kNchw && graph_.host.layout == Layout::kNchw;
  if (!untouched) return false;
  ImageShape& shape = graph_.input_value().shape;
  shape = {shape.batch, shape.channels, shape.height, shape.width};
  graph_.host.layout = Layout::kNhwc;
  return true;
}

void GraphBuilder::check_output(const ModelGraph& model) const {
  const std::string where = model.source + ": output '" + echoed(model.output->name()) + "'";
  if (graph_.layers.empty()) {
    throw_unsupported(where + ": no layer between input and output; supported: one or more");
  }
  const Declaration declared = read_declaration(*model.output, where);
  const int data_type = stage_ == Stage::kDequantized ? onnx::TensorProto::FLOAT
                        : value().is_unsigned()       ? onnx::TensorProto::UINT8
                                                      : onnx::TensorProto::INT8;
  if (declared.data_type != data_type) {
    throw_bad_input(where + ": declared as " + onnx_dtype_name(declared.data_type) + "; expected " +
                    onnx_dtype_name(data_type));
  }
  const Shape shape = onnx_shape(value().shape, axes_);
  bool same = !declared.has_shape || declared.shape.size() == shape.size();
  for (std::size_t i = 0; same && i < declared.shape.size(); ++i) {
    same = declared.shape[i] == kSymbolic || declared.shape[i] == shape[i];
  }
  if (!same) {
    throw_bad_input(where + ": declared with shape " + declared_shape_text(declared) +
                    "; expected " + shape_text(shape));
  }
  const Axes host_axes =
      graph_.host.layout == HostInterface::Layout::kNhwc ? Axes::kNhwc : Axes::kNchw;
  if (axes_ != Axes::kNk && axes_ != host_axes) {
    throw_unsupported(where + ": has axes " + axes_name(axes_) +
                      "; supported: " + axes_name(host_axes) + " as the input has, or [N, K]");
  }
}

Graph GraphBuilder::finish(const ModelGraph& model) && {
  check_output(model);
  graph_.host.flat_output = axes_ == Axes::kNk;
  return std::move(graph_);
}

}  // namespace qsim
