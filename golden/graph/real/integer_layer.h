// Layers with integer weights (layer_weights.h): what plain loops and vector paths share.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/layer_weights.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {

// A convolution, or a linear layer as a convolution of one position.
struct WeightedLayer {
  Window window;
  std::int64_t groups = 1;
  const Tensor* weights = nullptr;  // of shape [Cout]...[Cin / groups]
  const Tensor* bias = nullptr;

  std::int64_t outputs() const { return weights->shape[0]; }
  std::int64_t channels() const { return weights->shape.back(); }
  std::int64_t depth() const { return weights->elems() / outputs(); }
};

// `layer` is a Conv2d or a FullyConnected.
inline WeightedLayer weighted_layer(const Layer& layer) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return {conv->window, conv->groups, &conv->weights, &conv->bias};
  }
  const auto& linear = std::get<FullyConnected>(layer.operation);
  return {Window{}, 1, &linear.weights, &linear.bias};
}

// Element `index` of an int8 or int16 tensor.
inline std::int64_t level_at(const Tensor& levels, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return levels.dtype == DType::kInt8 ? levels.as<std::int8_t>()[at]
                                      : levels.as<std::int16_t>()[at];
}

// One number for all output channels, or one a channel.
template <typename T>
T of_channel(const std::vector<T>& numbers, std::int64_t channel) {
  return numbers.size() == 1 ? numbers[0] : numbers[static_cast<std::size_t>(channel)];
}

// level - zero_point of weight `index`, of output channel `channel`.
inline std::int64_t integer_weight(const IntegerWeights& weights, std::int64_t index,
                                   std::int64_t channel) {
  const std::int32_t zero =
      weights.zero_points.empty() ? 0 : of_channel(weights.zero_points, channel);
  return level_at(weights.levels, index) - zero;
}

// What a weight-only layer multiplies its input with.
inline float weight_factor(const IntegerWeights& weights, std::int64_t index,
                           std::int64_t channel) {
  return static_cast<float>(integer_weight(weights, index, channel));
}
inline float weight_factor(const Log2Weights& weights, std::int64_t index, std::int64_t) {
  const auto at = static_cast<std::size_t>(index);
  return static_cast<float>(weights.signs.as<std::int8_t>()[at]) *
         std::ldexp(1.0F, weights.exponents.as<std::int8_t>()[at]);
}

// The scale of an output channel's sums of integers: with powers of two they are sums of
// +-2^(exponent - lo).
inline float integer_scale(const IntegerWeights& weights, std::int64_t channel) {
  return of_channel(weights.scales, channel);
}
inline float integer_scale(const Log2Weights& weights, std::int64_t channel) {
  return of_channel(weights.scales, channel) * std::ldexp(1.0F, weights.lo);
}

// The input of an integer layer: q - zero_point as float32, and each picture's scale.
struct QuantizedInput {
  Tensor levels;
  std::vector<float> scales;
};
QuantizedInput quantize_input(const InputRule& rule, const Tensor& input, ThreadTeam& team);

// The plain loops.
void reference_weight_only(const WeightedLayer& layer, const RealLayerWeights& weights,
                           const Tensor& x, Tensor& y);
void reference_integer(const WeightedLayer& layer, const RealLayerWeights& weights, const Tensor& x,
                       Tensor& y);

RealRunner make_plain_integer_layer(const Layer& layer, const RealLayerWeights& weights);
RealRunner make_optimised_integer_layer(const Layer& layer, const RealLayerWeights& weights,
                                        const ProductKernels& kernels);

}  // namespace qsim::golden
