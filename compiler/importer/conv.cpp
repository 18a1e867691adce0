// QLinearConv: weights [M][C][kh][kw] become [M][kh][kw][C].
#include "compiler/importer/operators.h"
#include "compiler/importer/window.h"

namespace qsim {
namespace {

StoredTensor read_weights(const NodeReader& node, std::int64_t in_channels) {
  StoredTensor weights = node.stored_constant(3, "w");
  if (weights.dtype != DType::kInt8) {
    node.refuse("w is " + std::string(dtype_name(weights.dtype)), "int8");
  }
  const Shape& shape = weights.shape;
  if (shape.size() != 4) {
    node.refuse("w has shape " + shape_text(shape), "[M, C, kernel_h, kernel_w]");
  }
  if (weights.elems() == 0 || shape[1] != in_channels) {
    node.malformed("w has shape " + shape_text(shape),
                   "[M, " + std::to_string(in_channels) + ", kernel_h, kernel_w] with M >= 1");
  }
  return weights;
}

// [C][tap] of one output channel to [tap][C].
void turn_channel(const std::int8_t* from, std::int64_t in_channels, std::int64_t taps,
                  std::int8_t* to) {
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t c = 0; c < in_channels; ++c) *to++ = from[c * taps + tap];
  }
}

Tensor channels_last(const StoredTensor& weights) {
  const std::int64_t in_channels = weights.shape[1];
  const std::int64_t taps = weights.shape[2] * weights.shape[3];
  const std::int64_t each = in_channels * taps;
  Tensor result(DType::kInt8, {weights.shape[0], weights.shape[2], weights.shape[3], in_channels});
  std::int8_t* to = result.as<std::int8_t>().data();
  for_each_stripe(weights, [&](std::int64_t first, std::span<const std::int8_t> rows) {
    for (std::int64_t at = 0; at < std::ssize(rows); at += each) {
      turn_channel(rows.data() + at, in_channels, taps, to + first * each + at);
    }
  });
  return result;
}

void check_kernel_shape(const NodeReader& node, const NodeAttributes& attributes,
                        const Shape& weights) {
  const auto kernel = attributes.integers("kernel_shape", 2);
  if (kernel && ((*kernel)[0] != weights[2] || (*kernel)[1] != weights[3])) {
    node.malformed("kernel_shape = " + shape_text(*kernel),
                   shape_text({weights[2], weights[3]}) + ", as w has");
  }
}

}  // namespace

void import_qlinear_conv(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 8, 9);
  const NodeAttributes attributes(
      reader, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  attributes.require_integer("group", 1);
  graph.require(reader, Axes::kNchw);
  graph.agree(reader, read_quantization(reader, 1, "x"));
  const Value& input = graph.value();

  const StoredTensor weights = read_weights(reader, input.shape.channels);
  check_kernel_shape(reader, attributes, weights.shape);
  const std::int64_t out_channels = weights.shape[0];
  const std::vector<int> exponents = read_weight_exponents(reader, 4, "w", out_channels);
  const Quantization output = read_quantization(reader, 6, "y");

  Conv2d conv;
  conv.window = read_window(reader, attributes, input.shape, weights.shape[2], weights.shape[3]);
  conv.weights = channels_last(weights);
  conv.bias = read_bias(reader, 8, "B", out_channels, false);
  conv.requantization = requantization(reader, *input.scale_exponent(), exponents, output);
  const Window& w = conv.window;
  const ImageShape shape{
      input.shape.batch,
      window_count(input.shape.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
      window_count(input.shape.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right),
      out_channels};
  graph.add_layer(reader, std::move(conv), shape, Axes::kNchw, output);
}

}  // namespace qsim
