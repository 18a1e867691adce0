// The small number formats of quantized inference, as bits: FP16, BF16, FP8 (E4M3, E5M2), FP4
// (E2M1), UE8M0 and packed INT4. Integer arithmetic alone, so that host and device compute the same
// bits in each floating-point mode. docs/reference/kernels.md has each format's table.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"

namespace qsim::golden {

// A format with a sign bit, exponent_bits and mantissa_bits, and the bias 2^(exponent_bits - 1)
// - 1.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  std::uint32_t largest;   // code of the largest finite number
  std::uint32_t overflow;  // what a larger number and infinity become: largest, or infinity
  std::uint32_t nan;       // what each NaN becomes: the canonical NaN, or largest if there is none
  bool has_infinity;
  bool has_nan;
};

// IEEE 754 binary16 and bfloat16: overflow is infinity. NaNs are 0x7E00 and 0x7FC0.
inline constexpr FloatFormat kFp16{5, 10, 0x7BFF, 0x7C00, 0x7E00, true, true};
inline constexpr FloatFormat kBf16{8, 7, 0x7F7F, 0x7F80, 0x7FC0, true, true};
// OCP OFP8 1.0, saturating; NaN and overflow as PTX's cvt.rn.satfinite. E4M3 has no infinity.
inline constexpr FloatFormat kFp8E4m3{4, 3, 0x7E, 0x7E, 0x7F, false, true};
inline constexpr FloatFormat kFp8E5m2{5, 2, 0x7B, 0x7B, 0x7F, true, true};
// OCP MX 1.0's E2M1, saturating: neither NaN nor infinity. NaN becomes +6, as in PTX.
inline constexpr FloatFormat kFp4E2m1{2, 1, 0x7, 0x7, 0x7, false, false};

inline constexpr std::uint32_t kFp32Infinity = 0x7F800000;
inline constexpr std::uint32_t kFp32Nan = 0x7FC00000;  // the canonical NaN
inline constexpr std::uint32_t kFp32Magnitude = 0x7FFFFFFF;

QSIM_HOST_DEVICE constexpr std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
QSIM_HOST_DEVICE constexpr float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

// significand / 2^shift to nearest, ties to even. significand < 2^24, 1 <= shift.
struct HalfEven {
  QSIM_HOST_DEVICE constexpr std::uint32_t operator()(std::uint32_t significand, int shift) const {
    if (shift > 24) return 0;  // below half
    const std::uint32_t half_minus_1 = (std::uint32_t{1} << (shift - 1)) - 1;
    return (significand + half_minus_1 + ((significand >> shift) & 1)) >> shift;
  }
};

// significand / 2^shift rounded up with the probability of the fraction that is dropped: up where
// floor(fraction * 2^32) + random >= 2^32, for a random number of 32 bits.
struct Stochastic {
  std::uint32_t random;
  QSIM_HOST_DEVICE constexpr std::uint32_t operator()(std::uint32_t significand, int shift) const {
    if (shift >= 56) return 0;  // the fraction is below 2^-32
    const std::uint64_t scaled = static_cast<std::uint64_t>(significand) << 32 >> shift;
    return static_cast<std::uint32_t>((scaled + random) >> 32);
  }
};

// The code of the FP32 number with these bits in `format`, rounded by `round`: the sign, then the
// nearest multiple of the format's unit in the last place; subnormal results are exact multiples
// of the smallest one. NaN loses its sign, zero keeps it. A magnitude that rounds beyond `largest`
// becomes `overflow`.
template <FloatFormat format, typename Round>
QSIM_HOST_DEVICE constexpr std::uint32_t encode(std::uint32_t bits, Round round) {
  const std::uint32_t magnitude = bits & kFp32Magnitude;
  if (magnitude > kFp32Infinity) return format.nan;
  const bool is_normal = magnitude >= 0x800000;
  const std::uint32_t significand = (magnitude & 0x7FFFFF) | (is_normal ? 0x800000 : 0);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  // The exponent field of the result; below 1 the result is subnormal and drops more bits.
  const int exponent = (is_normal ? static_cast<int>(magnitude >> 23) : 1) - 127 + bias;
  const int below = exponent < 1 ? 1 - exponent : 0;
  const std::uint32_t kept = round(significand, 23 - format.mantissa_bits + below);
  const int field = exponent < 1 ? 0 : exponent - 1;  // kept has the leading 1 of a normal number
  std::uint32_t code = kept + (static_cast<std::uint32_t>(field) << format.mantissa_bits);
  if (code > format.largest) code = format.overflow;
  return code | bits >> 31 << (format.exponent_bits + format.mantissa_bits);
}

// Rounds to nearest, ties to even.
template <FloatFormat format>
QSIM_HOST_DEVICE constexpr std::uint32_t encode(std::uint32_t bits) {
  return encode<format>(bits, HalfEven());
}

// The FP32 bits of a code: exact, for every format here; each NaN becomes the canonical one. Bits
// above the format's are ignored.
template <FloatFormat format>
QSIM_HOST_DEVICE constexpr std::uint32_t decode(std::uint32_t code) {
  const int sign_bit = format.exponent_bits + format.mantissa_bits;
  const std::uint32_t sign = (code >> sign_bit & 1) << 31;
  const std::uint32_t magnitude = code & ((std::uint32_t{1} << sign_bit) - 1);
  if (magnitude > format.largest) {
    return format.has_infinity && magnitude == format.largest + 1 ? sign | kFp32Infinity : kFp32Nan;
  }
  const int shift = 23 - format.mantissa_bits;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  std::uint32_t significand = magnitude << shift;
  if (magnitude >> format.mantissa_bits == 0 && bias != 127) {
    if (magnitude == 0) return sign;
    // Normal in FP32: its leading 1 moves to bit 23, and the exponent falls as far.
    int exponent = 1 - bias + 127;
    while ((significand & 0x800000) == 0) {
      significand <<= 1;
      --exponent;
    }
    return sign | ((significand & 0x7FFFFF) + (static_cast<std::uint32_t>(exponent) << 23));
  }
  return sign | (significand + (static_cast<std::uint32_t>(127 - bias) << 23));
}

// The two 16-bit formats as floats.
QSIM_HOST_DEVICE constexpr float float_from_half(std::uint16_t code) {
  return float_of(decode<kFp16>(code));
}
QSIM_HOST_DEVICE constexpr std::uint16_t half_from_float(float value) {
  return static_cast<std::uint16_t>(encode<kFp16>(bits_of(value)));
}
QSIM_HOST_DEVICE constexpr float float_from_bfloat16(std::uint16_t code) {
  return float_of(decode<kBf16>(code));
}
QSIM_HOST_DEVICE constexpr std::uint16_t bfloat16_from_float(float value) {
  return static_cast<std::uint16_t>(encode<kBf16>(bits_of(value)));
}

// UE8M0 (OCP MX 1.0): code c is 2^(c - 127), 0 <= c <= 254; 255 is NaN.
inline constexpr std::uint32_t kUe8m0Nan = 255;

enum class PowerRounding : std::uint8_t {
  kFloor,   // the largest power of two that is not above the number
  kCeil,    // the smallest power of two that is not below it
  kHalfUp,  // the nearer one of the two, and of equally near ones the larger
};

// The code of a positive number by its FP32 bits, at least 0 and at most 254. NaN, infinity, zero
// and negative numbers are NaN.
QSIM_HOST_DEVICE constexpr std::uint32_t ue8m0_encode(std::uint32_t bits, PowerRounding rounding) {
  if (bits == 0 || bits >= kFp32Infinity) return kUe8m0Nan;
  if (bits < 0x800000) {  // below 2^-126: code 0 is 2^-127
    const std::uint32_t least_of_next = rounding == PowerRounding::kCeil ? 0x400001 : 0x600000;
    return rounding != PowerRounding::kFloor && bits >= least_of_next ? 1 : 0;
  }
  const std::uint32_t fraction = bits & 0x7FFFFF;
  const bool up = (rounding == PowerRounding::kCeil && fraction != 0) ||
                  (rounding == PowerRounding::kHalfUp && fraction >= 0x400000);
  const std::uint32_t code = (bits >> 23) + (up ? 1 : 0);
  return code > 254 ? 254 : code;
}

// The FP32 bits of a code, exact: 2^-127 is subnormal.
QSIM_HOST_DEVICE constexpr std::uint32_t ue8m0_decode(std::uint32_t code) {
  if (code == kUe8m0Nan) return kFp32Nan;
  return code == 0 ? 0x400000 : code << 23;
}

// Number `index` (0 or 1) of a byte of two signed 4-bit integers; the first is the low nibble.
QSIM_HOST_DEVICE constexpr std::int32_t int4_unpack(std::uint8_t byte, int index) {
  const int nibble = byte >> (4 * index) & 15;
  return (nibble ^ 8) - 8;
}

}  // namespace qsim::golden
