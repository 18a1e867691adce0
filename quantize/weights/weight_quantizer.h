// From float32 weights to integers with a scale a tensor or a scale an output channel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "quantize/levels.h"
#include "quantize/ranges/clipping.h"

namespace qsim::quantize {

struct WeightScheme {
  Levels levels = {.bits = 8, .is_unsigned = false, .reduced = true};
  Symmetry symmetry = Symmetry::kSymmetric;
  ScaleKind kind = ScaleKind::kFloat;
  bool per_channel = true;
  Clipping clipping = {};  // kMinMax, kPercentile, kMse, kFixed
  bool log2 = false;       // sign and exponent: +-2^e, e in 0..2^(bits - 1) - 2, and 0
};

// real = (levels - zero_point) * scale.
struct QuantizedWeights {
  Tensor levels;                          // int16, of the weights' shape: as stored, with the zero_point
  std::vector<float> scales;              // one, or one an output channel (the first axis)
  std::vector<std::int32_t> zero_points;  // as many

  bool operator==(const QuantizedWeights&) const = default;
};

// A channel of zeros has scale 1 and levels 0. Throws Error (exit code 3, `where` opens it) for
// weights that are not finite. `allowed`, unless absent, are the least and largest exponent that a
// power-of-two scale of each channel may have (so that shifts stay in 0..16).
struct ExponentLimits {
  int least = -149;
  int most = 127;
};
QuantizedWeights quantize_weights(const Tensor& weights, const WeightScheme& scheme,
                                  const std::string& where, ExponentLimits allowed = {});

// float32 of the same shape.
Tensor dequantize(const QuantizedWeights& weights);

}  // namespace qsim::quantize
