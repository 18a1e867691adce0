// The integers that a tensor is quantized to, and the scales that they may have.
#pragma once

#include <cstdint>
#include <string_view>

namespace qsim::quantize {

// The integers of a tensor's type. Signed: -2^(b-1)..2^(b-1) - 1; unsigned: 0..2^b - 1.
// `reduced` leaves out one at the end: -(2^(b-1) - 1) at the bottom of signed ones, 2^b - 2 at the
// top of unsigned ones. One bit, signed: -1 and +1 (no zero).
struct Levels {
  int bits = 8;  // 1 to 8
  bool is_unsigned = true;
  bool reduced = false;

  std::int32_t lo() const;
  std::int32_t hi() const;
};

// float: any float32. power_of_two: 2^n. dyadic: m * 2^n, m an integer of at most 8 bits, for
// weights; activations 2^n: so every requantizer is m / 2^s.
enum class ScaleKind : std::uint8_t { kFloat, kDyadic, kPowerOfTwo };

// affine: any zero_point, scale (max - min) / (hi - lo).
// symmetric: zero_point 0, scale 2 max|x| / (hi - lo). Unsigned: zero_point (hi + 1) / 2, the
// middle (2^(b-1); reduced, one less); where nothing is negative 0, and the scale max / hi.
// symmetric_max: the scale max|x| / (hi - zero_point) in its place.
enum class Symmetry : std::uint8_t { kAffine, kSymmetric, kSymmetricMax };

struct Quantization {
  float scale = 1;
  std::int32_t zero_point = 0;
  std::int32_t lo = 0;  // the tensor's integers
  std::int32_t hi = 255;

  bool operator==(const Quantization&) const = default;
};

struct Range {
  float lo = 0;
  float hi = 0;

  bool operator==(const Range&) const = default;
};

// The quantization that covers `range` (widened to have 0). A range of one value 0 gives scale 1
// and zero_point 0. Power-of-two scales are the smallest that cover the range; of a dyadic tensor
// of activations too. No scale is subnormal. Throws Error for a range that is not finite or that
// ends before it begins, and for levels that are none (bits beyond 1..8; one unsigned bit,
// reduced).
Quantization quantization_of(const Range& range, const Levels& levels, Symmetry symmetry,
                             ScaleKind kind);

// Its parts. The scale that covers `range`, not rounded; 0 for a range of one value 0.
double covering_scale(const Range& range, const Levels& levels, Symmetry symmetry);
// The quantization of that scale. Affine: zero_point = lo - range.lo / scale, rounded half to even
// and clamped to the levels.
Quantization quantization_at(float scale, const Range& range, const Levels& levels,
                             Symmetry symmetry);

// The exponents of scales: no scale is subnormal.
inline constexpr int kLeastScaleExponent = -126;
inline constexpr int kMostScaleExponent = 127;

// The least and largest n that a scale 2^n may have (so that shifts stay in 0..16).
struct ExponentLimits {
  int least = kLeastScaleExponent;
  int most = kMostScaleExponent;
};

// The smallest n with 2^n >= scale, of those exponents.
int covering_exponent(double scale);
// The float32 nearest to `scale` that is not subnormal and finite.
float float_scale(double scale);
// The float32 nearest to `scale` that has at most 8 significant bits, is not subnormal and finite.
float dyadic_scale(double scale);

}  // namespace qsim::quantize
