// A Graph of float32 together with what its file says and the Graph does not: the integers of its
// weights, and the rules that round its tensors. These are weights alone, weights and what a layer
// reads (dynamic quantization, integer layers), or every tensor (fake quantization). Golden runs
// it; the accelerator, which has integers alone, does not. docs/reference/onnx.md is the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/network/graph.h"
#include "core/numerics/tensor_rules.h"

namespace qsim {

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

// Replaces the float weights of a Conv2d or FullyConnected, whose bias is still used.
struct RealLayerWeights {
  std::variant<IntegerWeights, Log2Weights> weights;
  std::optional<InputRule> input = {};  // absent: the input stays float (weight-only)
};

// Log2Weights of integers +-2^e and 0 (int8 or int16): lo = 0, hi the largest e. Throws Error for
// other integers.
Log2Weights log2_weights(const Tensor& levels, std::vector<float> scales);

// The one form of w = (level - zero_point) * scale, whatever file or quantizer they come from:
// without a zero_point the levels are int8 where they fit; powers of two alone are Log2Weights, so
// that golden shifts. With one, levels and zero_points are those of uint8, as int16. `levels` are
// int16, zero_points as many as scales. Throws Error (exit code 3) for levels that 8 bits and a
// sign do not hold and that are not powers of two.
RealLayerWeights layer_weights_of(const Tensor& levels, std::vector<float> scales,
                                  std::vector<std::int32_t> zero_points);

struct HybridNetwork {
  Graph graph;                                      // weights as the integers below stand for them
  std::vector<std::optional<TensorRule>> rules;     // empty, or one a tensor
  std::map<std::size_t, RealLayerWeights> weights;  // by layer of the graph
};

// What a network is called: kFake where tensors have rules, kDynamic where a layer finds the range
// of what it reads, kIntegerLayers where layers quantize it by constant scales, else kWeightOnly.
enum class HybridMode : std::uint8_t { kWeightOnly, kDynamic, kFake, kIntegerLayers };
HybridMode mode_of(const HybridNetwork& network);
// "weight-only quantization", "dynamic quantization", "fake quantization", "integer layers"
std::string_view mode_name(HybridMode mode);

// float32 of the weights' shape: level * scale in one rounding, or +-2^e * scale.
Tensor dequantized(const RealLayerWeights& weights);

}  // namespace qsim
