// The dyadic requantizer: an int32 psum times any positive float32 scale, rounded to an integer.
// Host and device use this one definition, which is integer arithmetic alone.
// core/numerics/requantize.h has the case of scales that are powers of two,
// core/numerics/tflite_rounding.h TensorFlow Lite's two products. docs/reference/numerics.md
// derives each formula and width.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "core/numerics/requantize.h"
#include "core/numerics/scale.h"
#include "core/numerics/tflite_rounding.h"

namespace qsim {

// How the product of psum and scale becomes an integer. The first three are RoundingMode's, on the
// exact product; the fourth rounds as ONNX Runtime does. The accelerator implements these four
// (their values are the encoding of POST's `rounding` field). The last two are TensorFlow Lite's,
// with a multiplier of 31 bits, and exist in golden's CPU backend only.
enum class RequantizerRounding : std::uint8_t {
  kFloor = 0,
  kHalfEven = 1,
  kHalfUp = 2,
  kFloat32 = 3,       // psum to float32, product to float32, then to nearest with ties to even
  kTflite = 4,        // a doubling high multiply, then a rounding shift: rounds twice
  kTfliteSingle = 5,  // TFLITE_SINGLE_ROUNDING: the exact product to nearest, ties up
};

inline constexpr int kRequantizerRoundings = 6;
inline constexpr int kAcceleratorRequantizerRoundings = 4;

constexpr bool is_tflite(RequantizerRounding rounding) {
  return rounding >= RequantizerRounding::kTflite;
}

inline constexpr int kMultiplierBits = 24;  // of a float32
inline constexpr std::uint32_t kLeastMultiplier = std::uint32_t{1} << (kMultiplierBits - 1);
inline constexpr std::uint32_t kMostMultiplier = 2 * kLeastMultiplier - 1;
inline constexpr int kMostRequantizerShift = 63;
// A normal float32 is (2^23 + fraction) * 2^(biased exponent - 150).
inline constexpr int kBiasedExponentOfShift0 = 150;

// The scale multiplier / 2^shift, with kLeastMultiplier <= multiplier <= kMostMultiplier and
// 0 <= shift <= kMostRequantizerShift. As it is: the scale 1. With TensorFlow Lite's roundings the
// multiplier is a TfliteMultiplier's, and the shift 31 - exponent.
struct Requantizer {
  std::uint32_t multiplier = kLeastMultiplier;
  int shift = kMultiplierBits - 1;
  RequantizerRounding rounding = RequantizerRounding::kHalfEven;

  friend bool operator==(const Requantizer&, const Requantizer&) = default;
};

// The largest exponent of a TfliteMultiplier with this rounding.
constexpr int most_tflite_exponent(RequantizerRounding rounding) {
  return rounding == RequantizerRounding::kTflite ? kMostTfliteExponent : kMostTfliteExponent - 1;
}

QSIM_HOST_DEVICE constexpr TfliteMultiplier tflite_multiplier(const Requantizer& requantizer) {
  return {static_cast<std::int32_t>(requantizer.multiplier), kTfliteBits - requantizer.shift};
}

// Whether multiplier and shift are within the ranges above.
constexpr bool is_valid(const Requantizer& requantizer) {
  if (is_tflite(requantizer.rounding)) {
    const bool normalised = requantizer.multiplier >> (kTfliteBits - 1) == 1;
    return (normalised || requantizer.multiplier == 0) &&
           requantizer.shift >= kTfliteBits - most_tflite_exponent(requantizer.rounding) &&
           requantizer.shift <= kTfliteBits - kLeastTfliteExponent;
  }
  return requantizer.multiplier >= kLeastMultiplier && requantizer.multiplier <= kMostMultiplier &&
         requantizer.shift >= 0 && requantizer.shift <= kMostRequantizerShift;
}

// TensorFlow Lite's split of a scale that is at least 0; `rounding` is one of its two.
constexpr Requantizer tflite_requantizer(double scale, RequantizerRounding rounding) {
  const auto [multiplier, exponent] = tflite_multiplier_of(scale, most_tflite_exponent(rounding));
  return {static_cast<std::uint32_t>(multiplier), kTfliteBits - exponent, rounding};
}

// The requantizer that gives every psum the level that `scale` gives it, if `rounding` is not one
// of TensorFlow Lite's, which know 31 bits of a scale and none below 2^-32. It is `scale` itself
// from 2^-40 up to 2^24. A smaller scale gives what 2^-40 gives, since |t| <= 2^32 stays below half
// a level either way. From 2^24 on, each t other than 0 saturates every 8-bit type, as it does with
// 2^24 - 1.
constexpr Requantizer requantizer_of(const Scale& scale, RequantizerRounding rounding) {
  if (is_tflite(rounding)) return tflite_requantizer(scale.real(), rounding);
  const int shift = -scale.exponent();
  if (shift > kMostRequantizerShift) {
    return {kLeastMultiplier, kMostRequantizerShift, rounding};
  }
  if (shift < 0) return {kMostMultiplier, 0, rounding};
  return {scale.multiplier(), shift, rounding};
}

// multiplier / 2^shift, exactly.
constexpr double exact_scale(const Requantizer& requantizer) {
  constexpr int kDoubleBias = 1023;
  constexpr int kDoubleFractionBits = 52;
  const auto exponent = static_cast<std::uint64_t>(kDoubleBias - requantizer.shift);
  return requantizer.multiplier * std::bit_cast<double>(exponent << kDoubleFractionBits);
}

// multiplier / 2^shift, which is a float32 unless the rounding is TensorFlow Lite's.
constexpr float real_scale(const Requantizer& requantizer) {
  const auto exponent = static_cast<std::uint32_t>(kBiasedExponentOfShift0 - requantizer.shift);
  return std::bit_cast<float>((exponent << (kMultiplierBits - 1)) |
                              (requantizer.multiplier & (kLeastMultiplier - 1)));
}

// What core/numerics/requantize.h does with `shift`: the scale 2^-shift, 0 <= shift <= kMaxShift.
constexpr Requantizer requantizer_of_shift(int shift, RequantizerRounding rounding) {
  return {kLeastMultiplier, kMultiplierBits - 1 + shift, rounding};
}

// The shift of which this is the requantizer_of_shift(); nothing where it is of none, or rounds as
// no shift does.
constexpr std::optional<int> as_shift(const Requantizer& requantizer) {
  const int shift = requantizer.shift - (kMultiplierBits - 1);
  const bool is_shift = requantizer.multiplier == kLeastMultiplier && shift >= 0 &&
                        shift <= kMaxShift && requantizer.rounding < RequantizerRounding::kFloat32;
  return is_shift ? std::optional(shift) : std::nullopt;
}

// The number of significant bits of `value`.
QSIM_HOST_DEVICE constexpr int significant_bits(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(value));
#else
  return static_cast<int>(std::bit_width(value));
#endif
}

// The float32 nearest to an integer, ties to the even significand (IEEE 754 roundTiesToEven);
// value < 2^62. The result may have one bit more than `value`.
QSIM_HOST_DEVICE constexpr std::int64_t nearest_float32(std::int64_t value) {
  const int dropped = significant_bits(static_cast<std::uint64_t>(value)) - kMultiplierBits;
  if (dropped <= 0) return value;
  return rounding_shift(value, dropped, RoundingMode::kHalfEven) << dropped;
}

// t * scale rounded by TensorFlow Lite. Its t is an int32; here a larger one saturates.
QSIM_HOST_DEVICE constexpr std::int64_t tflite_level(std::int64_t t,
                                                     const Requantizer& requantizer) {
  const TfliteMultiplier scale = tflite_multiplier(requantizer);
  return requantizer.rounding == RequantizerRounding::kTflite
             ? tflite_product(saturate_to_int32(t), scale)
             : tflite_product_once(saturate_to_int32(t), scale);
}

// t * scale rounded to an integer. |t| <= 2^32. |t * multiplier| < 2^56 and the rounding addend is
// at most 2^62, so that 64 bits are enough; the result needs 57.
QSIM_HOST_DEVICE constexpr std::int64_t rounded_product(std::int64_t t,
                                                        const Requantizer& requantizer) {
  const std::int64_t multiplier = requantizer.multiplier;
  if (requantizer.rounding != RequantizerRounding::kFloat32) {
#if !defined(__CUDA_ARCH__)  // golden's CUDA backend refuses them
    if (is_tflite(requantizer.rounding)) return tflite_level(t, requantizer);
#endif
    return rounding_shift(t * multiplier, requantizer.shift,
                          static_cast<RoundingMode>(requantizer.rounding));
  }
  // float32 rounds a number and its negative alike. No product is subnormal: it is 0 or >= 2^-40.
  const std::int64_t product = nearest_float32(nearest_float32(t < 0 ? -t : t) * multiplier);
  const std::int64_t level = rounding_shift(product, requantizer.shift, RoundingMode::kHalfEven);
  return t < 0 ? -level : level;
}

// clamp(round((acc + bias) * scale) + zero_point, lo, hi), computed without overflow for every
// int32 acc and bias. lo <= hi; both within the 8-bit type of the ofmap. The zero_point is added
// after rounding, as ONNX's QLinearConv does.
QSIM_HOST_DEVICE constexpr std::int32_t requantize(std::int32_t acc, std::int32_t bias,
                                                   const Requantizer& requantizer,
                                                   std::int32_t zero_point, std::int32_t lo,
                                                   std::int32_t hi) {
  const std::int64_t t = static_cast<std::int64_t>(acc) + bias;
  return clamp_to(rounded_product(t, requantizer) + zero_point, lo, hi);
}

static_assert(static_cast<int>(RequantizerRounding::kFloor) ==
              static_cast<int>(RoundingMode::kFloor));
static_assert(static_cast<int>(RequantizerRounding::kHalfEven) ==
              static_cast<int>(RoundingMode::kHalfEven));
static_assert(static_cast<int>(RequantizerRounding::kHalfUp) ==
              static_cast<int>(RoundingMode::kHalfUp));
static_assert(requantizer_of(Scale::power_of_two(0), RequantizerRounding::kHalfEven) ==
              Requantizer{});
static_assert(requantizer_of(*Scale::of(0.001F), RequantizerRounding::kFloor).shift == 33);
#if !defined(__CUDA_ARCH__)  // the device's __clzll is not a constant expression
static_assert(nearest_float32((1 << 24) + 1) == 1 << 24);
static_assert(nearest_float32((1 << 24) + 3) == (1 << 24) + 4);
static_assert(nearest_float32((1 << 25) - 1) == 1 << 25);
#endif

}  // namespace qsim
