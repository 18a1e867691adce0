// From a psum and its channel's constants to output bytes. All rounding is core/requantize.h's; a
// clamp to the whole range of a dtype may also be the saturation of pack4.
#pragma once

#include "core/requantize.h"
#include "golden/cuda/output_stage.h"

namespace qsim::golden::cuda {

// a + b mod 2^32
__device__ inline std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

// The output value of column `column`, as an int32 within lo..hi. `mode` is params.rounding: a
// constant where the caller has made it one.
__device__ inline std::int32_t finish(const OutputParams& params, RoundingMode mode,
                                      std::int32_t acc, int column) {
  const std::int32_t psum = wrapping_add(acc, params.fold[column]);
  if (params.narrow) {
    return requantize_narrow(psum, params.shift[column], mode, params.zero_point, params.lo,
                             params.hi);
  }
  return requantize(psum, params.bias[column], params.shift[column], mode, params.zero_point,
                    params.lo, params.hi);
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
