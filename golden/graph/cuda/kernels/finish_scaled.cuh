// From a psum and its channel's constants to an output value with any scale:
// core/numerics/requantizer.h and core/numerics/adder.h for the epilogues of kernels. Where int32
// holds the psum with its bias, float32's rounding is the device's own float32 arithmetic, which
// takes fewer instructions than a shift.
#pragma once

#include "core/numerics/adder.h"
#include "core/numerics/requantizer.h"
#include "golden/graph/cuda/output_stage.h"

namespace qsim::golden::cuda {

// a + b mod 2^32
__device__ inline std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

// The requantizer whose real_scale() is `scale`.
__device__ inline Requantizer requantizer_of_real(float scale, RequantizerRounding rounding) {
  const std::uint32_t bits = __float_as_uint(scale);
  return {kLeastMultiplier | (bits & (kLeastMultiplier - 1)),
          kBiasedExponentOfShift0 - static_cast<int>(bits >> (kMultiplierBits - 1)), rounding};
}

// The integer nearest to `value`, ties to even; |value| <= 2^22.
__device__ inline std::int32_t nearest_int(float value) {
  constexpr std::int32_t kBits = 0x4B400000;  // of kIntegerFloats
  return __float_as_int(__fadd_rn(value, kIntegerFloats)) - kBits;
}

// psum * scale limited to what lo and hi leave of it. Clamping before the last rounding is the same
// as after it, since the ends are integers.
__device__ inline float scaled(const OutputParams& params, std::int32_t psum, float scale) {
  const float product = __fmul_rn(__int2float_rn(psum), scale);
  return fminf(fmaxf(product, params.least), params.most);
}

// The output value of a narrow psum by a requantizer that rounds as float32.
__device__ inline std::int32_t finish_float(const OutputParams& params, std::int32_t psum,
                                            float scale) {
  return nearest_int(scaled(params, psum, scale)) + params.zero_point;
}

// The output value of any psum, as an int32 within lo..hi; `bias` is not in `psum`.
__device__ inline std::int32_t finish_scaled(const OutputParams& params, std::int32_t psum,
                                             std::int32_t bias, float scale) {
  if (params.narrow && params.scaled_rounding == RequantizerRounding::kFloat32) {
    return finish_float(params, psum, scale);
  }
  const Requantizer requantizer = requantizer_of_real(scale, params.scaled_rounding);
  const std::int64_t t = std::int64_t{psum} + (params.narrow ? 0 : bias);
  return clamp_to(rounded_product(t, requantizer) + params.zero_point, params.lo, params.hi);
}

// The sum of two levels as core/numerics/adder.h's kFloat32 has it, in float32 itself: every number
// there is a whole number of units of 2^-39 below 2^20, far from what float32 cannot hold. Its low
// byte is the sum's.
__device__ inline std::int32_t add_float_byte(const AdderParams& adder, float first, float second) {
  const float sum =
      __fmaf_rn(first, adder.first_ratio, __fmaf_rn(second, adder.second_ratio, adder.fixed));
  return __float_as_int(__fadd_rn(fminf(fmaxf(sum, adder.lo), adder.hi), kIntegerFloats));
}

}  // namespace qsim::golden::cuda
