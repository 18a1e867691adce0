#include "formats/onnx/importer/product_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/printable.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// A tensor's byte for each byte of the tensor that product_root() gives.
ByteTable bytes_of_root(const GraphBuilder& graph, const ImportedTensor& tensor) {
  if (const GraphBuilder::Table* table = graph.table_of(tensor.id)) return table->bytes;
  ByteTable same{};
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<std::uint8_t>(i);
  return same;
}

void require_one_root(const GraphBuilder& graph, const NodeReader& node, const ImportedTensor& a,
                      const ImportedTensor& b) {
  if (product_root(graph, a) == product_root(graph, b) && a.pads == b.pads) return;
  node.refuse("multiplies two tensors", "a tensor and a function of it, as in HardSwish");
}

// Whether more than one node reads what DequantizeLinear makes of `levels`.
bool is_read_by_several(const ModelGraph& model, const std::string& levels) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const ModelNode& node) {
    return node.proto->op_type() == "DequantizeLinear" && node.proto->input_size() > 0 &&
           node.proto->input(0) == levels && model.reads_of(node.proto->output(0)) > 1;
  });
}

// Whether ONNX Runtime multiplies real numbers: product_bytes().
bool runs_as_float(const GraphBuilder& graph, const OpenLayer& layer, const NodeReader& quantize,
                   const Quantization& output) {
  const NodeReader node(quantize.model(), layer.node);
  if (node.op_type() != "Mul") return false;
  int several = 0;
  for (const int index : {0, 1}) {
    const Quantization operand = graph.quantization(layer.inputs[static_cast<std::size_t>(index)]);
    if (operand.dtype != output.dtype) return true;
    several += node.model().reads_of(node.input(index)) > 1 ? 1 : 0;
  }
  if (output.dtype == DType::kUint8) return false;
  several += is_read_by_several(node.model(), quantize.output()) ? 1 : 0;
  return several != 0 && several != 3;
}

std::uint8_t rounded(float real, const Quantization& output) {
  const float level = std::nearbyint(std::clamp(real, -512.0F, 512.0F));
  return static_cast<std::uint8_t>(
      std::clamp(static_cast<std::int32_t>(level), output.min(), output.max()));
}

}  // namespace

TensorId product_root(const GraphBuilder& graph, const ImportedTensor& a) {
  const GraphBuilder::Table* table = graph.table_of(a.id);
  return table == nullptr ? a.id : table->input;
}

OpenLayer open_product(const GraphBuilder& graph, const NodeReader& node, const ImportedTensor& a,
                       const ImportedTensor& b) {
  require_one_root(graph, node, a, b);
  return {node.node(), LookupTable{"multiply", {}}, {a, b}, graph.shape(a), a.axes};
}

ByteTable product_bytes(const GraphBuilder& graph, const OpenLayer& layer,
                        const NodeReader& quantize, const Quantization& output) {
  const ImportedTensor& a = layer.inputs[0];
  const ImportedTensor& b = layer.inputs[1];
  const ByteTable a_bytes = bytes_of_root(graph, a);
  const ByteTable b_bytes = bytes_of_root(graph, b);
  const Quantization aq = graph.quantization(a);
  const Quantization bq = graph.quantization(b);
  const auto a_reals = dequantized_bytes(value_of(aq));
  const auto b_reals = dequantized_bytes(value_of(bq));
  const bool as_float = runs_as_float(graph, layer, quantize, output);
  const float product = aq.scale.real() * bq.scale.real();
  const float scale = product / output.scale.real();
  ByteTable bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (as_float) {
      const float real = a_reals[a_bytes[i]] * b_reals[b_bytes[i]];
      const float clipped = std::min(std::max(real, layer.low), layer.high);
      bytes[i] = static_cast<std::uint8_t>(quantized(clipped, value_of(output)));
      continue;
    }
    const std::int32_t levels = (level_of_byte(a_bytes[i], aq.dtype) - aq.zero_point) *
                                (level_of_byte(b_bytes[i], bq.dtype) - bq.zero_point);
    const float scaled = static_cast<float>(levels) * scale;
    const std::int32_t level = level_of_byte(
        rounded(scaled + static_cast<float>(output.zero_point), output), output.dtype);
    const std::int32_t lo = quantized(layer.low, value_of(output));
    const std::int32_t hi = quantized(layer.high, value_of(output));
    bytes[i] = static_cast<std::uint8_t>(std::min(std::max(level, lo), hi));
  }
  return bytes;
}

ImportedTensor product_of_reals(const GraphBuilder& graph, const NodeReader& node,
                                const ImportedTensor& a, const ImportedTensor& b) {
  require_one_root(graph, node, a, b);
  const auto reals = [&](const ImportedTensor& tensor) {
    return tensor.function ? *tensor.function
                           : dequantized_bytes(value_of(graph.quantization(tensor)));
  };
  if (a.id != b.id) {
    node.refuse("multiplies a tensor and float32 numbers of an activation of another tensor",
                "a QuantizeLinear and a DequantizeLinear after the activation");
  }
  ByteFunction values = reals(a);
  const ByteFunction others = reals(b);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= others[i];
  ImportedTensor result = a;
  result.function = std::make_shared<const ByteFunction>(values);
  return result;
}

}  // namespace qsim::formats
