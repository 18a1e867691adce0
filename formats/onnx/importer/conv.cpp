// QLinearConv, and Conv between DequantizeLinear and QuantizeLinear.
#include "formats/onnx/importer/convolution.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/weights.h"

namespace qsim::formats {
namespace {

// A convolution of `input`, which has no bias yet.
OpenLayer open_convolution(const GraphBuilder& graph, const NodeReader& node,
                           const NodeAttributes& attributes, ImportedTensor input,
                           const StoredWeights& weights) {
  graph.require_axes(node, input, Axes::kNchw);
  const Convolution read = read_convolution(node, attributes, graph.shape(input), input.pads,
                                            weights.name, weights.shape());
  Conv2d conv;
  conv.groups = read.groups;
  conv.window = read.window;
  input.pads = {};
  conv.weights = conv_weights(weights);
  std::vector<double> products = products_of(graph.quantization(input).scale.real(), weights);
  return {node.node(), std::move(conv), {input}, read.output, Axes::kNchw, std::move(products)};
}

}  // namespace

void import_qlinear_conv(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(8, 9);
  const NodeAttributes attributes = convolution_attributes(node);
  graph.levels(node, 0, Axes::kNchw);
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "x"));
  const StoredWeights weights = read_qlinear_weights(node, 3, "w", "w", 0);
  OpenLayer layer = open_convolution(graph, node, attributes, input, weights);
  std::get<Conv2d>(layer.operation).bias = read_bias(node, 8, "B", layer.shape.channels, false);
  graph.define(node, graph.close(node, layer, read_quantization(node, 6, "y")));
}

void import_conv(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes = convolution_attributes(node);
  const ImportedTensor input = graph.dequantized(node, 0);
  const StoredWeights weights = read_dequantized_weights(node, 1, graph.find(node, 1), "W", 0);
  auto layer =
      std::make_shared<OpenLayer>(open_convolution(graph, node, attributes, input, weights));
  std::get<Conv2d>(layer->operation).bias =
      read_real_bias(node, 2, graph.find(node, 2), layer->shape.channels, layer->products, false);
  graph.define_open(node, std::move(layer));
}

}  // namespace qsim::formats
