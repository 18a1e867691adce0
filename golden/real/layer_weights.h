// Integer weights of a layer of a float network: for weight-only and dynamic quantization, and for
// weights that are powers of two. docs/reference/real.md has the arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/real_graph.h"
#include "golden/real/real_rules.h"

namespace qsim::golden {

// w = (levels - zero_point) * scale.
struct IntegerWeights {
  Tensor levels;                               // int8 or int16, of the weights' shape
  std::vector<float> scales;                   // one, or one an output channel
  std::vector<std::int32_t> zero_points = {};  // empty (all 0), one, or one an output channel
};
// |level - zero_point| at most.
inline constexpr std::int32_t kMostIntegerWeight = 255;

// w = sign * 2^exponent * scale.
struct Log2Weights {
  Tensor signs;               // int8 of the weights' shape: -1, 0 (w = 0), 1
  Tensor exponents;           // int8, lo..hi; where the sign is 0 any
  std::vector<float> scales;  // one, or one an output channel
  std::int32_t lo = -7;       // -126 <= lo <= hi <= 127, hi - lo <= kMostExponents
  std::int32_t hi = 0;
};
inline constexpr std::int32_t kMostExponents = 30;

// The rule by which an integer layer quantizes what it reads. Its integers are at most 255 from the
// zero_point.
using InputRule = std::variant<UniformRule, DynamicRule>;

// Of a RealConv2d or RealLinear, whose float weights are then not used; its bias is.
struct RealLayerWeights {
  std::variant<IntegerWeights, Log2Weights> weights;
  std::optional<InputRule> input = {};  // absent: the input stays float (weight-only)
};

// Log2Weights of integers +-2^e and 0 (int8 or int16): lo = 0, hi the largest e. Throws Error for
// other integers.
Log2Weights log2_weights(const Tensor& levels, std::vector<float> scales);

// Throws Error (exit code 3) naming the layer, what was found and what is allowed.
void check_layer_weights(const RealLayer& layer, const RealLayerWeights& weights);

}  // namespace qsim::golden
