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

// affine: any zero_point. symmetric: zero_point 0 (unsigned: 2^(b-1), or 0 where nothing is
// negative), scale 2 max|x| / (hi - lo). symmetric_max: max|x| / hi in its place.
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

// The quantization that covers `range` (widened to have 0). A range of one value 0 gives scale 1.
// Power-of-two scales are the smallest that cover the range; of a dyadic tensor of activations
// too. Throws Error for a range that is not finite.
Quantization quantization_of(const Range& range, const Levels& levels, Symmetry symmetry,
                             ScaleKind kind);

// The float32 nearest to `scale` that has at most 8 significant bits.
float dyadic_scale(double scale);

}  // namespace qsim::quantize
