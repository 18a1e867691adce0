// QLinearMatMul and com.microsoft QGemm, and MatMul and Gemm between DequantizeLinear and
// QuantizeLinear: weights become [N][K].
#include "core/base/printable.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/weights.h"

namespace qsim::formats {
namespace {

void check_weights(const NodeReader& node, const StoredWeights& weights, std::int64_t in_channels,
                   bool outputs_first) {
  const Shape& shape = weights.shape();
  if (shape.size() != 2) {
    node.refuse(weights.name + " has shape " + shape_text(shape), "two dimensions");
  }
  const bool as_stored = outputs_first != weights.transposed;
  if (weights.numbers.elems() == 0 || shape[as_stored ? 1 : 0] != in_channels) {
    const std::string k = std::to_string(in_channels);
    node.malformed(weights.name + " has shape " + shape_text(shape),
                   (as_stored ? "[N, " + k + "]" : "[" + k + ", N]") + " with N >= 1");
  }
}

// A fully connected layer, which has no bias yet; its scale is (alpha * x_scale) * w_scale.
OpenLayer open_fully_connected(const GraphBuilder& graph, const NodeReader& node,
                               ImportedTensor input, const StoredWeights& weights,
                               bool outputs_first, float alpha) {
  graph.require_axes(node, input, Axes::kNk);
  const ImageShape& in = graph.value(input).shape;
  check_weights(node, weights, in.channels, outputs_first);
  FullyConnected layer;
  layer.weights = matrix_weights(weights, outputs_first);
  layer.bias = Tensor(DType::kInt32, {layer.weights.shape[0]});
  const ImageShape out{in.batch, 1, 1, layer.weights.shape[0]};
  const float x_scale = alpha * graph.quantization(input).scale.real();
  std::vector<double> products = products_of(x_scale, weights);
  return {node.node(), std::move(layer), {std::move(input)}, out, Axes::kNk, std::move(products)};
}

// transA, transB and alpha; whether B is [N, K].
struct GemmAttributes {
  bool outputs_first;
  float alpha;
};

GemmAttributes gemm_attributes(const NodeReader& node, const NodeAttributes& attributes) {
  const float alpha = attributes.real("alpha", 1.0F);
  if (!Scale::of(alpha)) {
    node.refuse("alpha = " + float_text(alpha), "positive float32 numbers");
  }
  attributes.require_integer("transA", 0);
  const std::int64_t trans_b = attributes.integer("transB", 0);
  if (trans_b != 0 && trans_b != 1) {
    node.refuse("transB = " + std::to_string(trans_b), "0, 1");
  }
  return {trans_b == 1, alpha};
}

}  // namespace

void import_qlinear_matmul(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(8, 8);
  const NodeAttributes attributes(node, {});
  graph.levels(node, 0, Axes::kNk);
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "a"));
  const StoredWeights weights = read_qlinear_weights(node, 3, "b", "b", 1);
  OpenLayer layer = open_fully_connected(graph, node, input, weights, false, 1.0F);
  graph.define(node, graph.close(node, layer, read_quantization(node, 6, "y")));
}

void import_qgemm(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(6, 9);
  const NodeAttributes attributes(node, {"alpha", "transA", "transB"});
  const GemmAttributes gemm = gemm_attributes(node, attributes);
  graph.levels(node, 0, Axes::kNk);
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "a"));
  if (!node.has_input(7)) {
    node.refuse("y_scale is absent, so the output is float32", "a quantized output");
  }
  const StoredWeights weights = read_qlinear_weights(node, 3, "B", "b", gemm.outputs_first ? 0 : 1);
  OpenLayer layer =
      open_fully_connected(graph, node, input, weights, gemm.outputs_first, gemm.alpha);
  std::get<FullyConnected>(layer.operation).bias =
      read_bias(node, 6, "C", layer.shape.channels, true);
  graph.define(node, graph.close(node, layer, read_quantization(node, 7, "y")));
}

void import_gemm(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes(node, {"alpha", "beta", "transA", "transB"});
  const GemmAttributes gemm = gemm_attributes(node, attributes);
  const float beta = attributes.real("beta", 1.0F);
  if (node.has_input(2) && !(beta == 1.0F)) node.refuse("beta = " + float_text(beta), "1");
  // ONNX adds the bias after alpha; the int32 bias of QGemm is added before.
  if (node.has_input(2) && !(gemm.alpha == 1.0F)) {
    node.refuse("alpha = " + float_text(gemm.alpha) + " and a bias", "alpha 1, or no bias");
  }
  const ImportedTensor input = graph.dequantized(node, 0);
  const StoredWeights weights =
      read_dequantized_weights(node, 1, graph.find(node, 1), "B", gemm.outputs_first ? 0 : 1);
  auto layer = std::make_shared<OpenLayer>(
      open_fully_connected(graph, node, input, weights, gemm.outputs_first, gemm.alpha));
  std::get<FullyConnected>(layer->operation).bias =
      read_real_bias(node, 2, graph.find(node, 2), layer->shape.channels, layer->products, true);
  graph.define_open(node, std::move(layer));
}

void import_matmul(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  const ImportedTensor input = graph.dequantized(node, 0);
  const StoredWeights weights = read_dequantized_weights(node, 1, graph.find(node, 1), "B", 1);
  graph.define_open(node, std::make_shared<OpenLayer>(
                              open_fully_connected(graph, node, input, weights, false, 1.0F)));
}

}  // namespace qsim::formats
