// The instructions of compute capability 8.0 that the mma.sync kernels are made of. Lane l of a
// warp is (g, q) = (l / 4, l % 4) throughout.
#pragma once

#include <cstdint>

namespace qsim::golden::cuda {

// The block's dynamic shared memory.
__device__ inline std::uint8_t* dynamic_shared() {
  extern __shared__ __align__(16) std::uint8_t memory[];
  return memory;
}

__device__ inline std::uint32_t to_shared(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Starts copying kBytes (4, 8 or 16; both sides aligned to as many) to shared memory.
template <int kBytes>
__device__ inline void copy_async(std::uint32_t shared, const void* global) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(kBytes)
                 : "memory");
  }
}

// Starts copying kBytes (8 or 16) to shared memory, or as many zeros where `inside` is 0, without
// reading.
template <int kBytes>
__device__ inline void copy_if(std::uint32_t inside, const std::uint8_t* from, std::uint32_t to) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
               "r"(inside != 0 ? kBytes : 0)
               : "memory");
}

// Closes a group of this thread's copies, which may be empty.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the kPending latest groups of this thread are under way.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8x16-byte matrices: lane l names row l % 8 of matrix l / 8 and receives in words[m] the
// bytes 4q..4q+3 of row g of matrix m.
__device__ inline void load_matrices(std::uint32_t (&words)[4], std::uint32_t shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(shared_row)
               : "memory");
}

// sums += A * B mod 2^32, A 16x32 and B 32x8, one of them int8 and the other as named. a[0], a[2]:
// row g, depths 4q.. and 16 + 4q..; a[1], a[3]: row g + 8. b0, b1: column g, the same depths.
// sums[0..1]: row g, columns 2q and 2q + 1; sums[2..3]: row g + 8.
#define QSIM_MMA(types)                                                      \
  asm("mma.sync.aligned.m16n8k32.row.col.s32." types                         \
      ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

template <bool kUnsignedA>
__device__ inline void multiply_a(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                  std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kUnsignedA) {
    QSIM_MMA("u8.s8");
  } else {
    QSIM_MMA("s8.s8");
  }
}

template <bool kUnsignedB>
__device__ inline void multiply_b(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                                  std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kUnsignedB) {
    QSIM_MMA("s8.u8");
  } else {
    QSIM_MMA("s8.s8");
  }
}

#undef QSIM_MMA

#define QSIM_MMA(types)                                                                     \
  asm("mma.sync.aligned.m16n8k32.row.col.s32." types                                        \
      ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"            \
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])                          \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(c.x), "r"(c.y), \
        "r"(c.z), "r"(c.w))

// sums = c + A * B mod 2^32, all of them as in multiply_a: B is (b0, b1), c what the sums begin at.
template <bool kUnsignedA>
__device__ inline void multiply_eight(std::int32_t (&sums)[4], const std::uint32_t (&a)[4], uint2 b,
                                      int4 c) {
  if constexpr (kUnsignedA) {
    QSIM_MMA("u8.s8");
  } else {
    QSIM_MMA("s8.s8");
  }
}

#undef QSIM_MMA

#define QSIM_MMA(types)                                            \
  asm("mma.sync.aligned.m16n8k16.row.col.s32." types               \
      ".s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"   \
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]) \
      : "r"(a0), "r"(a1), "r"(b))

// sums += A * B mod 2^32, A 16x16 and B 16x8 int8. a0: row g, depths 4q..; a1: row g + 8. b: column
// g, the same depths. The sums are multiply_a's.
template <bool kUnsignedA>
__device__ inline void multiply_four(std::int32_t (&sums)[4], std::uint32_t a0, std::uint32_t a1,
                                     std::uint32_t b) {
  if constexpr (kUnsignedA) {
    QSIM_MMA("u8.s8");
  } else {
    QSIM_MMA("s8.s8");
  }
}

#undef QSIM_MMA

// 16 bytes that this kernel reads once: they pass by the L1 cache.
__device__ inline uint4 load_once(const uint4* global) {
  uint4 value;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(global));
  return value;
}

}  // namespace qsim::golden::cuda
