// Products of bfloat16 tiles in shared memory on tensor cores: mma.sync m16n8k16, sums in float32.
// Lane l of a warp is (g, q) = (l / 4, l % 4) throughout.
#pragma once

#include <cstdint>

#include "golden/device/tensor_core.cuh"

namespace qsim::golden::train::cuda {

// sums += A * B, A 16x16 and B 16x8. a[0], a[2]: row g, depths 2q.. and 8 + 2q..; a[1], a[3]: row
// g + 8. b0, b1: column g, the same depths. sums[0..1]: row g, columns 2q and 2q + 1; sums[2..3]:
// row g + 8.
__device__ inline void multiply_bfloat16(float (&sums)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// load_matrices(), each 8x8 matrix turned: a lane receives rows 2q, 2q + 1 of column g.
__device__ inline void load_turned(std::uint32_t (&words)[4], std::uint32_t shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_row)
               : "memory");
}

// 16 bytes to shared memory from global, or zeros where `inside` is false.
__device__ inline void copy_16(std::uint32_t to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(inside ? 16 : 0)
               : "memory");
}
__device__ inline void store_16(std::uint32_t to, uint4 words) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w)
               : "memory");
}

// Where 16 bytes are in a tile of rows of 64 bytes, or of 128: so turned that the same bytes of
// eight rows are in 32 banks.
__device__ inline std::uint32_t in_rows_of_64(int row, int chunk) {
  return static_cast<std::uint32_t>(row * 64 + (chunk ^ (row >> 1 & 3)) * 16);
}
__device__ inline std::uint32_t in_rows_of_128(int row, int chunk) {
  return static_cast<std::uint32_t>(row * 128 + (chunk ^ (row & 7)) * 16);
}

// Levels less a zero_point as bfloat16, which is exact. `shift` is level_shift(zero_point). A level
// plus 128 becomes the last byte of 2^23 in float32; the difference has no bit beyond bfloat16's.
__device__ inline float level_shift(int zero_point) {
  return 8388608.0F + static_cast<float>(128 + zero_point);
}
__device__ inline std::uint32_t level_pair(std::uint32_t unsigned_levels, std::uint32_t first,
                                           float shift) {
  const std::uint32_t low = __byte_perm(unsigned_levels, 0x4B000000u, 0x7440u | first);
  const std::uint32_t high = __byte_perm(unsigned_levels, 0x4B000000u, 0x7440u | (first + 1));
  return __byte_perm(__float_as_uint(__uint_as_float(low) - shift),
                     __float_as_uint(__uint_as_float(high) - shift), 0x7632u);
}
__device__ inline uint4 eight_levels(uint2 levels, float shift) {
  const std::uint32_t low = levels.x ^ 0x80808080u;
  const std::uint32_t high = levels.y ^ 0x80808080u;
  return {level_pair(low, 0, shift), level_pair(low, 2, shift), level_pair(high, 0, shift),
          level_pair(high, 2, shift)};
}

}  // namespace qsim::golden::train::cuda
