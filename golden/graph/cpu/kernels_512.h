// What the kernels on 512-bit registers have in common. x86-64 only.
#pragma once

#include "golden/graph/cpu/vector_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace qsim::golden {

inline constexpr int kLanes512 = 16;

// kAvx512VnniKernels.requantize_scaled_tile
void requantize_scaled_tile_512(const std::int32_t* acc, int row_count,
                                const RequantizerPanel& panel, const OutputRange& range,
                                int channels, std::uint8_t* out, std::size_t out_stride);

// kAvx512VnniKernels.add_float32
void add_float32_512(const AddOperands& operands, const std::uint8_t* a, const std::uint8_t* b,
                     std::uint8_t* out, std::size_t count);

}  // namespace qsim::golden
#endif
