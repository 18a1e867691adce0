// The numeric contract of qsim: how an int32 psum becomes an 8-bit activation. Host and device use
// this one definition; the RTL is the second, a wide-integer oracle in tests/core the third.
// docs/reference/numerics.md derives each formula.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define QSIM_HOST_DEVICE __host__ __device__
#else
#define QSIM_HOST_DEVICE
#endif

namespace qsim {

// How the bits that a right shift drops are rounded. The accelerator implements the first three
// (their values are the encoding of POST's `rounding` field); the last two exist in golden only.
enum class RoundingMode : std::uint8_t {
  kFloor = 0,       // toward minus infinity
  kHalfEven = 1,    // to nearest, ties to even: ONNX and ONNX Runtime
  kHalfUp = 2,      // to nearest, ties toward plus infinity
  kHalfAway = 3,    // to nearest, ties away from zero
  kTowardZero = 4,  // truncate
};

inline constexpr int kRoundingModes = 5;
inline constexpr int kAcceleratorRoundingModes = 3;
inline constexpr int kMaxShift = 31;

// The value r such that (t + r) >> shift is t / 2^shift rounded by `mode`. Int is std::int64_t, or
// std::int32_t where |t| + 2^shift fits it. With |t| <= 2^32 and 0 <= shift <= 31, 0 <= r < 2^31,
// so that t + r needs 34 bits. The first three modes also take |t| < 2^62 and a shift up to 63: r
// <= 2^62.
template <typename Int>
QSIM_HOST_DEVICE constexpr Int rounding_addend(Int t, int shift, RoundingMode mode) {
  if (shift == 0) return 0;
  const Int half = Int{1} << (shift - 1);
  switch (mode) {
    case RoundingMode::kFloor:
      return 0;
    case RoundingMode::kHalfEven:
      return half - 1 + ((t >> shift) & 1);
    case RoundingMode::kHalfUp:
      return half;
    case RoundingMode::kHalfAway:
      return half - (t < 0 ? 1 : 0);
    case RoundingMode::kTowardZero:
      return t < 0 ? half - 1 + half : 0;
  }
  return 0;
}

// t / 2^shift rounded to an integer by `mode`; the shift is arithmetic. Int as above.
template <typename Int>
QSIM_HOST_DEVICE constexpr Int rounding_shift(Int t, int shift, RoundingMode mode) {
  return (t + rounding_addend(t, shift, mode)) >> shift;
}

// value limited to lo..hi.
template <typename Int>
QSIM_HOST_DEVICE constexpr std::int32_t clamp_to(Int value, std::int32_t lo, std::int32_t hi) {
  return static_cast<std::int32_t>(value < lo ? lo : (value > hi ? hi : value));
}

// clamp(round((acc + bias) / 2^shift) + zero_point, lo, hi), computed without overflow for every
// int32 acc and bias. lo <= hi; both within the 8-bit type of the ofmap.
QSIM_HOST_DEVICE constexpr std::int32_t requantize(std::int32_t acc, std::int32_t bias, int shift,
                                                   RoundingMode mode, std::int32_t zero_point,
                                                   std::int32_t lo, std::int32_t hi) {
  const std::int64_t t = static_cast<std::int64_t>(acc) + bias;
  return clamp_to(rounding_shift(t, shift, mode) + zero_point, lo, hi);
}

// The same for t = acc + bias where |t| + 2^shift + |zero_point| fits int32: a third of the
// instructions on processors without 64-bit integers.
QSIM_HOST_DEVICE constexpr std::int32_t requantize_narrow(std::int32_t t, int shift,
                                                          RoundingMode mode,
                                                          std::int32_t zero_point, std::int32_t lo,
                                                          std::int32_t hi) {
  return clamp_to(rounding_shift(t, shift, mode) + zero_point, lo, hi);
}

// Activations travel through the datapath as int8. A uint8 value u is carried as u XOR 0x80, that
// is u - 128; an int8 value is carried as it is. Zero points, lo and hi follow the same rule.
QSIM_HOST_DEVICE constexpr std::int32_t carried(std::int32_t value, bool is_unsigned) {
  return is_unsigned ? value - 128 : value;
}

static_assert(rounding_shift(5, 1, RoundingMode::kFloor) == 2);
static_assert(rounding_shift(-5, 1, RoundingMode::kFloor) == -3);
static_assert(rounding_shift(5, 1, RoundingMode::kHalfEven) == 2);
static_assert(rounding_shift(7, 1, RoundingMode::kHalfEven) == 4);
static_assert(rounding_shift(-5, 1, RoundingMode::kHalfEven) == -2);
static_assert(rounding_shift(-7, 1, RoundingMode::kHalfEven) == -4);
static_assert(rounding_shift(5, 1, RoundingMode::kHalfUp) == 3);
static_assert(rounding_shift(-5, 1, RoundingMode::kHalfUp) == -2);
static_assert(rounding_shift(5, 1, RoundingMode::kHalfAway) == 3);
static_assert(rounding_shift(-5, 1, RoundingMode::kHalfAway) == -3);
static_assert(rounding_shift(7, 2, RoundingMode::kTowardZero) == 1);
static_assert(rounding_shift(-7, 2, RoundingMode::kTowardZero) == -1);
static_assert(requantize(INT32_MAX, INT32_MAX, 31, RoundingMode::kHalfUp, 0, -128, 127) == 2);
static_assert(requantize(INT32_MIN, INT32_MIN, 31, RoundingMode::kHalfUp, 0, -128, 127) == -2);
static_assert(requantize(INT32_MAX, INT32_MAX, 0, RoundingMode::kHalfEven, 0, -128, 127) == 127);
static_assert(requantize(100, 0, 0, RoundingMode::kFloor, 7, 0, 255) == 107);

}  // namespace qsim
