// The product of bits on tensor cores of compute capability 8.0 and later, and the sums of rows.
#pragma once

#include <cstdint>

namespace qsim::golden::cuda {

// sums += popcount(a[16][256] & b[8][256]). a[0], a[2]: row g, bits 32 q.. and 128 + 32 q..; a[1],
// a[3]: row g + 8; b: column g, the same bits; sums[2 * h + e]: row g + 8 * h, column 2 * q + e.
__device__ inline void mma_bits(std::int32_t* sums, const std::uint32_t (&a)[4], uint2 b) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

// The popcounts of the rows, of what their four lanes have.
__device__ inline void sum_lanes(std::int32_t (&ones)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    ones[h] += __shfl_xor_sync(0xFFFFFFFFu, ones[h], 1);
    ones[h] += __shfl_xor_sync(0xFFFFFFFFu, ones[h], 2);
  }
}

}  // namespace qsim::golden::cuda
