// QLinearMatMul and com.microsoft QGemm: weights become [N][K].
#include <algorithm>

#include "compiler/importer/operators.h"

namespace qsim {
namespace {

// Turns `count` rows of `columns` bytes: row k becomes byte k of the rows of `to`, which are
// `pitch` bytes apart. In squares, which stay in the cache.
void turn(const std::int8_t* from, std::int64_t count, std::int64_t columns, std::int8_t* to,
          std::int64_t pitch) {
  constexpr std::int64_t kSquare = 64;
  for (std::int64_t k0 = 0; k0 < count; k0 += kSquare) {
    const std::int64_t k1 = std::min(k0 + kSquare, count);
    for (std::int64_t n0 = 0; n0 < columns; n0 += kSquare) {
      for (std::int64_t n = n0; n < std::min(n0 + kSquare, columns); ++n) {
        for (std::int64_t k = k0; k < k1; ++k) to[n * pitch + k] = from[k * columns + n];
      }
    }
  }
}

// [in][out] to [out][in].
Tensor outputs_first(const StoredTensor& weights) {
  const std::int64_t in_channels = weights.shape[0];
  const std::int64_t out_channels = weights.shape[1];
  Tensor result(DType::kInt8, {out_channels, in_channels});
  std::int8_t* to = result.as<std::int8_t>().data();
  for_each_stripe(weights, [&](std::int64_t first, std::span<const std::int8_t> rows) {
    turn(rows.data(), std::ssize(rows) / out_channels, out_channels, to + first, in_channels);
  });
  return result;
}

// The constant factor as int8 [out][in]; in the file it is [in][out], or [out][in] when
// `transposed`.
Tensor read_weights(const NodeReader& node, int index, const char* name, std::int64_t in_channels,
                    bool transposed) {
  const StoredTensor weights = node.stored_constant(index, name);
  if (weights.dtype != DType::kInt8) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(weights.dtype)), "int8");
  }
  if (weights.shape.size() != 2) {
    node.refuse(std::string(name) + " has shape " + shape_text(weights.shape), "two dimensions");
  }
  if (weights.elems() == 0 || weights.shape[transposed ? 1 : 0] != in_channels) {
    const std::string k = std::to_string(in_channels);
    node.malformed(std::string(name) + " has shape " + shape_text(weights.shape),
                   (transposed ? "[N, " + k + "]" : "[" + k + ", N]") + " with N >= 1");
  }
  return transposed ? whole_tensor(weights) : outputs_first(weights);
}

void add_fully_connected(const NodeReader& node, GraphBuilder& graph, Tensor weights, Tensor bias,
                         const std::vector<int>& exponents, const Quantization& output) {
  const Value& input = graph.value();
  FullyConnected layer;
  layer.requantization = requantization(node, *input.scale_exponent(), exponents, output);
  layer.weights = std::move(weights);
  layer.bias = std::move(bias);
  const ImageShape shape{input.shape.batch, 1, 1, layer.weights.shape[0]};
  graph.add_layer(node, std::move(layer), shape, Axes::kNk, output);
}

}  // namespace

void import_qlinear_matmul(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 8, 8);
  const NodeAttributes attributes(reader, {});
  graph.require(reader, Axes::kNk);
  graph.agree(reader, read_quantization(reader, 1, "a"));
  Tensor weights = read_weights(reader, 3, "b", graph.value().shape.channels, false);
  const std::int64_t out_channels = weights.shape[0];
  const std::vector<int> exponents = read_weight_exponents(reader, 4, "b", out_channels);
  add_fully_connected(reader, graph, std::move(weights), Tensor(DType::kInt32, {out_channels}),
                      exponents, read_quantization(reader, 6, "y"));
}

void import_qgemm(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 6, 9);
  const NodeAttributes attributes(reader, {"alpha", "transA", "transB"});
  const float alpha = attributes.real("alpha", 1.0F);
  if (!(alpha == 1.0F)) reader.refuse("alpha = " + std::to_string(alpha), "1");
  attributes.require_integer("transA", 0);
  const std::int64_t trans_b = attributes.integer("transB", 0);
  if (trans_b != 0 && trans_b != 1) {
    reader.refuse("transB = " + std::to_string(trans_b), "0, 1");
  }
  graph.require(reader, Axes::kNk);
  graph.agree(reader, read_quantization(reader, 1, "a"));
  if (!reader.has_input(7)) {
    reader.refuse("y_scale is absent, so the output is float32", "a quantized output");
  }
  Tensor weights = read_weights(reader, 3, "B", graph.value().shape.channels, trans_b == 1);
  const std::int64_t out_channels = weights.shape[0];
  const std::vector<int> exponents = read_weight_exponents(reader, 4, "b", out_channels);
  Tensor bias = read_bias(reader, 6, "C", out_channels, true);
  add_fully_connected(reader, graph, std::move(weights), std::move(bias), exponents,
                      read_quantization(reader, 7, "y"));
}

}  // namespace qsim
