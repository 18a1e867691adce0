// From float32 weights to integers with a scale a tensor or a scale an output channel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"
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

// real = (levels - zero_point) * scale. Symmetric: the zero_point of unsigned levels is one for the
// tensor. One signed bit: the levels are -1 and +1 (0 counts as positive), zero_point 0, and the
// scale is the mean of |w|, which has the least squared error, whatever the clipping and the
// symmetry.
struct QuantizedWeights {
  Tensor levels;              // int16, of the weights' shape: as stored, with the zero_point
  std::vector<float> scales;  // one, or one an output channel (the first axis)
  std::vector<std::int32_t> zero_points;  // as many

  bool operator==(const QuantizedWeights&) const = default;
};

// A channel of zeros has scale 1 (limited by `allowed`) and levels that stand for 0. `allowed`
// limits power-of-two scales, channel by channel. Throws Error (exit code 3, `where` opens it) for
// weights that are not finite, for moving_average and entropy, which need batches, and for log2
// weights of other than 2 to 5 bits (2^e has to fit int16).
QuantizedWeights quantize_weights(const Tensor& weights, const WeightScheme& scheme,
                                  const std::string& where, ExponentLimits allowed = {});

// Whether every level - zero_point fits int8: then the weights run as int8, exactly.
bool fits_int8(const QuantizedWeights& weights);

// float32 of the same shape.
Tensor dequantize(const QuantizedWeights& weights);

}  // namespace qsim::quantize
