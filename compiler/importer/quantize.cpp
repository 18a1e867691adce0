// QuantizeLinear at the head and DequantizeLinear at the end of a graph: no layers, but what the
// host does with real numbers.
#include "compiler/importer/operators.h"

namespace qsim {
namespace {

// With one scale for the tensor the axis means nothing. Blocks came with opset 21, `saturate`
// concerns 8-bit floats only.
void check_attributes(const NodeAttributes& attributes) {
  attributes.integer("axis", 1);
  attributes.require_integer("block_size", 0);
  attributes.require_integer("saturate", 1);
}

DType quantized_dtype(const NodeReader& node, const NodeAttributes& attributes) {
  const std::int64_t type = attributes.integer("output_dtype", onnx::TensorProto::UNDEFINED);
  if (type == onnx::TensorProto::INT8) return DType::kInt8;
  if (type != onnx::TensorProto::UNDEFINED && type != onnx::TensorProto::UINT8) {
    node.refuse("output_dtype = " + std::to_string(type), "int8 (3), uint8 (2)");
  }
  return DType::kUint8;
}

}  // namespace

void import_quantize_linear(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 2, 3);
  const NodeAttributes attributes(reader, {"axis", "block_size", "output_dtype", "saturate"});
  check_attributes(attributes);
  const DType dtype = quantized_dtype(reader, attributes);
  const Quantization quantization = read_quantization(reader, 1, "y", dtype);
  const bool contradicts = attributes.integer("output_dtype", onnx::TensorProto::UNDEFINED) != 0 &&
                           quantization.dtype != dtype;
  if (contradicts) {
    reader.malformed("y_zero_point is " + std::string(dtype_name(quantization.dtype)),
                     std::string(dtype_name(dtype)) + ", as output_dtype says");
  }
  graph.quantize(reader, quantization);
}

void import_dequantize_linear(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 2, 3);
  const NodeAttributes attributes(reader, {"axis", "block_size"});
  check_attributes(attributes);
  graph.require_quantized(reader);
  graph.dequantize(reader, read_quantization(reader, 1, "x", graph.value().dtype));
}

}  // namespace qsim
