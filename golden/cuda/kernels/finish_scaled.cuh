// From a psum and its channel's constants to an output value with any scale: core/requantizer.h for
// the epilogues of kernels. Where int32 holds the psum with its bias, float32's rounding is the
// device's own float32 arithmetic, which takes fewer instructions than a shift.
#pragma once

#include "core/requantizer.h"
#include "golden/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {

// OutputParams (golden/cuda/output_stage.h) with a scale in place of a shift.
struct ScaledParams {
  // [channels]; in a narrow stage fold holds the bias as well, and bias is 0.
  const std::int32_t* fold = nullptr;
  const std::int32_t* bias = nullptr;
  const float* scale = nullptr;  // real_scale() of the channel's requantizer
  std::int32_t zero_point = 0;
  std::int32_t lo = 0;
  std::int32_t hi = 0;
  RequantizerRounding rounding = RequantizerRounding::kFloat32;
  bool narrow = false;  // fold + acc is psum + bias, within int32
};

// The requantizer whose real_scale() is `scale`.
__device__ inline Requantizer requantizer_of_real(float scale, RequantizerRounding rounding) {
  const std::uint32_t bits = __float_as_uint(scale);
  return {kLeastMultiplier | (bits & (kLeastMultiplier - 1)),
          kBiasedExponentOfShift0 - static_cast<int>(bits >> (kMultiplierBits - 1)), rounding};
}

// The output value of column `column`, as an int32 within lo..hi. `rounding` is params.rounding: a
// constant where the caller has made it one. Clamping before the last rounding is the same as after
// it, since the ends are integers, and keeps the conversion within int32.
__device__ inline std::int32_t finish_scaled(const ScaledParams& params,
                                             RequantizerRounding rounding, std::int32_t acc,
                                             int column) {
  const std::int32_t psum = wrapping_add(acc, params.fold[column]);
  const float scale = params.scale[column];
  if (params.narrow && rounding == RequantizerRounding::kFloat32) {
    const float product = __fmul_rn(__int2float_rn(psum), scale);
    const auto lo = static_cast<float>(params.lo - params.zero_point);
    const auto hi = static_cast<float>(params.hi - params.zero_point);
    return __float2int_rn(fminf(fmaxf(product, lo), hi)) + params.zero_point;
  }
  const Requantizer requantizer = requantizer_of_real(scale, rounding);
  const std::int64_t t = std::int64_t{psum} + (params.narrow ? 0 : params.bias[column]);
  return clamp_to(rounded_product(t, requantizer) + params.zero_point, params.lo, params.hi);
}

}  // namespace qsim::golden::cuda
