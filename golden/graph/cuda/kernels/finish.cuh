// From a psum and its channel's constants to output bytes. All rounding is
// core/numerics/requantize.h's; a clamp to the whole range of a dtype may also be the saturation of
// pack4.
#pragma once

#include "core/numerics/requantize.h"
#include "golden/graph/cuda/kernels/finish_scaled.cuh"

namespace qsim::golden::cuda {

// The constants of a column.
struct ColumnParams {
  std::int32_t fold = 0;
  std::int32_t bias = 0;   // of kGeneral
  std::int32_t shift = 0;  // unless there are scales
  float scale = 0;
};

// The output value of a sum, as an int32 within lo..hi.
template <FinishKind kKind>
__device__ inline std::int32_t finish_as(const OutputParams& params, std::int32_t acc,
                                         const ColumnParams& column) {
  const std::int32_t psum = wrapping_add(acc, column.fold);
  if constexpr (kKind == FinishKind::kShift) {
    return requantize_narrow(psum, column.shift, RoundingMode::kHalfEven, params.zero_point,
                             params.lo, params.hi);
  } else if constexpr (kKind == FinishKind::kScale) {
    return finish_float(params, psum, column.scale);
  } else {
    if (params.scale != nullptr) return finish_scaled(params, psum, column.bias, column.scale);
    if (params.narrow) {
      return requantize_narrow(psum, column.shift, params.rounding, params.zero_point, params.lo,
                               params.hi);
    }
    return requantize(psum, column.bias, column.shift, params.rounding, params.zero_point,
                      params.lo, params.hi);
  }
}

// The same for column `column`, whatever the kind.
__device__ inline std::int32_t finish(const OutputParams& params, std::int32_t acc, int column) {
  const float scale = params.scale != nullptr ? params.scale[column] : 0.0F;
  return finish_as<FinishKind::kGeneral>(
      params, acc, {params.fold[column], params.bias[column], params.shift[column], scale});
}

// The low bytes of four values, the first one lowest.
__device__ inline std::uint32_t pack_bytes(const std::int32_t (&values)[4]) {
  const std::uint32_t low = __byte_perm(values[0], values[1], 0x0040);
  const std::uint32_t high = __byte_perm(values[2], values[3], 0x0040);
  return __byte_perm(low, high, 0x5410);
}

// Four values in the ofmap's dtype, the first in the lowest byte; saturates.
__device__ inline std::uint32_t pack4(std::int32_t a, std::int32_t b, std::int32_t c,
                                      std::int32_t d, bool is_unsigned) {
  std::uint32_t packed;
  if (is_unsigned) {
    asm("{\n.reg .b32 high;\ncvt.pack.sat.u8.s32.b32 high, %4, %3, 0;\n"
        "cvt.pack.sat.u8.s32.b32 %0, %2, %1, high;\n}"
        : "=r"(packed)
        : "r"(a), "r"(b), "r"(c), "r"(d));
  } else {
    asm("{\n.reg .b32 high;\ncvt.pack.sat.s8.s32.b32 high, %4, %3, 0;\n"
        "cvt.pack.sat.s8.s32.b32 %0, %2, %1, high;\n}"
        : "=r"(packed)
        : "r"(a), "r"(b), "r"(c), "r"(d));
  }
  return packed;
}

}  // namespace qsim::golden::cuda
