// Conv, Gemm and MatMul with constant weights.
#include "formats/onnx/importer/convolution.h"
#include "formats/onnx/importer/real/real_constants.h"
#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

ChannelMap map_of(std::vector<double> bias, double scale) {
  const std::size_t channels = bias.size();
  return {std::vector<double>(channels, scale), std::move(bias)};
}

std::vector<double> zeros(std::int64_t channels) {
  return std::vector<double>(static_cast<std::size_t>(channels), 0.0);
}

// [M][K], of a constant at input 1 that is that or [K][M].
Tensor matrix(const NodeReader& node, std::int64_t in_channels, bool outputs_first) {
  Tensor weights = real_constant(node, 1, "B");
  const Shape& shape = weights.shape;
  if (shape.size() != 2) node.refuse("B has shape " + shape_text(shape), "two dimensions");
  if (weights.elems() == 0 || shape[outputs_first ? 1 : 0] != in_channels) {
    const std::string k = std::to_string(in_channels);
    node.malformed("B has shape " + shape_text(shape),
                   (outputs_first ? "[N, " + k + "]" : "[" + k + ", N]") + " with N >= 1");
  }
  return outputs_first ? weights : turned(weights);
}

void define_linear(const NodeReader& node, RealBuilder& graph, const RealTensor& input,
                   Tensor weights, std::vector<double> bias, double scale, bool outputs_first) {
  const ImageShape output{graph.shape(input).batch, 1, 1, weights.shape[0]};
  graph.define_layer(node, FullyConnected{std::move(weights), {}}, {input}, output, Axes::kNk,
                     map_of(std::move(bias), scale));
  if (const StoredIntegers* integers = graph.integers(node, 1)) {
    graph.set_layer_integers(matrix_weights(node, *integers, outputs_first));
  }
}

}  // namespace

void import_real_conv(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes = convolution_attributes(node);
  RealTensor input = graph.tensor(node, 0, Axes::kNchw);
  const Tensor weights = real_constant(node, 1, "W");
  const Convolution read =
      read_convolution(node, attributes, graph.shape(input), input.pads, "W", weights.shape);
  input.pads = {};
  const std::int64_t channels = read.output.channels;
  std::vector<double> bias =
      node.has_input(2) ? channel_constant(node, 2, "B", channels) : zeros(channels);
  Conv2d conv{.window = read.window, .weights = channels_last(weights), .groups = read.groups};
  graph.define_layer(node, std::move(conv), {input}, read.output, Axes::kNchw,
                     map_of(std::move(bias), 1.0));
  if (const StoredIntegers* integers = graph.integers(node, 1)) {
    graph.set_layer_integers(convolution_weights(node, *integers));
  }
}

void import_real_gemm(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes(node, {"alpha", "beta", "transA", "transB"});
  attributes.require_integer("transA", 0);
  const bool outputs_first = attributes.integer("transB", 0) != 0;
  const RealTensor input = graph.tensor(node, 0, Axes::kNk);
  Tensor weights = matrix(node, graph.shape(input).channels, outputs_first);
  const std::int64_t channels = weights.shape[0];
  std::vector<double> bias = zeros(channels);
  if (node.has_input(2)) {
    const auto beta = static_cast<double>(attributes.real("beta", 1.0F));
    bias = repeated_constant(node, 2, "C", 2, 1, channels);
    for (double& each : bias) each *= beta;
  }
  define_linear(node, graph, input, std::move(weights), std::move(bias),
                static_cast<double>(attributes.real("alpha", 1.0F)), outputs_first);
}

void import_real_matmul(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  const RealTensor input = graph.tensor(node, 0, Axes::kNk);
  Tensor weights = matrix(node, graph.shape(input).channels, false);
  const std::int64_t channels = weights.shape[0];
  define_linear(node, graph, input, std::move(weights), zeros(channels), 1.0, false);
}

}  // namespace qsim::formats
