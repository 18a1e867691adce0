// QLinearConv, and Conv between DequantizeLinear and QuantizeLinear.
#include "compiler/importer/operators.h"
#include "compiler/importer/weights.h"
#include "compiler/importer/window.h"

namespace qsim {
namespace {

NodeAttributes attributes_of(const NodeReader& node) {
  return NodeAttributes(node,
                        {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

void check_weights(const NodeReader& node, const StoredWeights& weights, std::int64_t in_channels,
                   std::int64_t groups) {
  const Shape& shape = weights.shape();
  if (shape.size() != 4) {
    node.refuse(weights.name + " has shape " + shape_text(shape), "[M, C, kernel_h, kernel_w]");
  }
  if (groups < 1 || in_channels % groups != 0 || shape[0] % groups != 0) {
    node.malformed("group = " + std::to_string(groups) + " with " + std::to_string(in_channels) +
                       " input and " + std::to_string(shape[0]) + " output channels",
                   "a divisor of both");
  }
  if (weights.numbers.elems() == 0 || shape[1] != in_channels / groups) {
    node.malformed(
        weights.name + " has shape " + shape_text(shape),
        "[M, " + std::to_string(in_channels / groups) + ", kernel_h, kernel_w] with M >= 1");
  }
}

void check_kernel_shape(const NodeReader& node, const NodeAttributes& attributes,
                        const Shape& weights) {
  const auto kernel = attributes.integers("kernel_shape", 2);
  if (kernel && ((*kernel)[0] != weights[2] || (*kernel)[1] != weights[3])) {
    node.malformed("kernel_shape = " + shape_text(*kernel),
                   shape_text({weights[2], weights[3]}) + ", as w has");
  }
}

// A convolution of `input`, which has no bias yet.
OpenLayer open_convolution(const GraphBuilder& graph, const NodeReader& node,
                           const NodeAttributes& attributes, ImportedTensor input,
                           const StoredWeights& weights) {
  graph.require_axes(node, input, Axes::kNchw);
  const ImageShape in = graph.shape(input);
  Conv2d conv;
  conv.groups = attributes.integer("group", 1);
  check_weights(node, weights, in.channels, conv.groups);
  const Shape& shape = weights.shape();
  check_kernel_shape(node, attributes, shape);
  conv.window = read_window(node, attributes, in, shape[2], shape[3]);
  const Window& w = conv.window;
  const ImageShape out{
      in.batch, window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
      window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right), shape[0]};
  add_pads(conv.window, input.pads);
  input.pads = {};
  conv.weights = conv_weights(weights);
  std::vector<double> products = products_of(graph.quantization(input).scale.real(), weights);
  return {node.node(), std::move(conv), {input}, out, Axes::kNchw, std::move(products)};
}

}  // namespace

void import_qlinear_conv(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(8, 9);
  const NodeAttributes attributes = attributes_of(node);
  graph.levels(node, 0, Axes::kNchw);
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "x"));
  const StoredWeights weights = read_qlinear_weights(node, 3, "w", "w", 0);
  OpenLayer layer = open_convolution(graph, node, attributes, input, weights);
  std::get<Conv2d>(layer.operation).bias = read_bias(node, 8, "B", layer.shape.channels, false);
  graph.define(node, graph.close(node, layer, read_quantization(node, 6, "y")));
}

void import_conv(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes = attributes_of(node);
  const ImportedTensor input = graph.dequantized(node, 0);
  const StoredWeights weights = read_dequantized_weights(node, 1, graph.find(node, 1), "W", 0);
  auto layer =
      std::make_shared<OpenLayer>(open_convolution(graph, node, attributes, input, weights));
  std::get<Conv2d>(layer->operation).bias =
      read_real_bias(node, 2, graph.find(node, 2), layer->shape.channels, layer->products, false);
  graph.define_open(node, std::move(layer));
}

}  // namespace qsim
