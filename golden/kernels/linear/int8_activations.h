// Float activations as int8 with one scale for a row of x (a token): each arithmetic step, once,
// for host and device. The scale and the codes are those of a conversion to int8 per token
// (golden/kernels/convert); docs/reference/kernels.md has the definition.
#pragma once

#include <optional>

#include "golden/kernels/convert/group_arithmetic.h"
#include "golden/kernels/linear/linear_arithmetic.h"

namespace qsim::golden {

// How x becomes int8.
struct Int8Activations {
  // A static scale for every row of x, a finite number of at least 2^-126. None: each row has the
  // scale of its own largest magnitude.
  std::optional<float> scale;
};

// The scale of a row whose largest finite magnitude is `largest`, FP32 bits: largest / 127, at
// least 2^-126; 1 for a row of zeros.
QSIM_HOST_DEVICE inline float row_scale(std::uint32_t largest) {
  return fp32_scale(float_of(largest), ElementFormat::kInt8);
}

// The code of a number, -127..127: x / scale to the nearest integer, ties to even. Larger numbers
// and infinities saturate, and a NaN is 0.
QSIM_HOST_DEVICE inline int activation_code(std::uint32_t bits, float scale) {
  return static_cast<std::int8_t>(quantized<ElementFormat::kInt8>(
      float_of(bits), scale, 0, integer_range(ElementFormat::kInt8, false), HalfEven()));
}

// The result before bias and type: the exact sum of codes and weights, rounded to FP32, times the
// weights' scale, times the row's scale, each product rounded.
QSIM_HOST_DEVICE inline float scaled_sum(std::int32_t sum, float weight_scale, float row_scale) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(__fmaf_rn(__int2float_rn(sum), weight_scale, 0.0F), row_scale);
#else
  return __builtin_fmaf(static_cast<float>(sum), weight_scale, 0.0F) * row_scale;
#endif
}

}  // namespace qsim::golden
