// The warpgroup multiply-accumulate of signed bytes with few columns, whose sums are the first ones
// of a longer array: PTX ISA 9.0, section 9.7.15. hopper.cuh has those of 64 columns and more.
#pragma once

#include "golden/device/hopper.cuh"

namespace qsim::golden::cuda {

#define QSIM_WGMMA_32                                                                           \
  asm volatile(                                                                                 \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"                                              \
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {"                                      \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                        \
      "%8, %9, %10, %11, %12, %13, %14, %15"                                                    \
      "}, %16, %17, p;\n}\n"                                                                    \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),     \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), \
        "+r"(d[14]), "+r"(d[15])                                                                \
      : "l"(a), "l"(b), "r"(1))

#define QSIM_WGMMA_48                                                                              \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %26, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n48k32.s32.s8.s8 {"                                         \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                           \
      "%8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
      "%16, %17, %18, %19, %20, %21, %22, %23"                                                     \
      "}, %24, %25, p;\n}\n"                                                                       \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),        \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),    \
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), \
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23])                                                      \
      : "l"(a), "l"(b), "r"(1))

#define QSIM_WGMMA_64                                                                              \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"                                         \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                           \
      "%8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, "                                                   \
      "%24, %25, %26, %27, %28, %29, %30, %31"                                                     \
      "}, %32, %33, p;\n}\n"                                                                       \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),        \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),    \
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), \
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), \
        "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])                                         \
      : "l"(a), "l"(b), "r"(1))

#define QSIM_WGMMA_96                                                                              \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 {"                                         \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                           \
      "%8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, "                                                   \
      "%24, %25, %26, %27, %28, %29, %30, %31, "                                                   \
      "%32, %33, %34, %35, %36, %37, %38, %39, "                                                   \
      "%40, %41, %42, %43, %44, %45, %46, %47"                                                     \
      "}, %48, %49, p;\n}\n"                                                                       \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),        \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),    \
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), \
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), \
        "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), \
        "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), \
        "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])               \
      : "l"(a), "l"(b), "r"(1))

// d[64][kColumns] += a[64][32] * b[kColumns][32]^T; operands and sums are as wgmma() has them.
template <int kColumns, int kCount>
__device__ inline void wgmma_columns(std::int32_t (&d)[kCount], std::uint64_t a, std::uint64_t b) {
  static_assert(kCount >= kColumns / 2, "a sum for each column of a thread");
  if constexpr (kColumns == 32) {
    QSIM_WGMMA_32;
  } else if constexpr (kColumns == 48) {
    QSIM_WGMMA_48;
  } else if constexpr (kColumns == 64) {
    QSIM_WGMMA_64;
  } else {
    static_assert(kColumns == 96);
    QSIM_WGMMA_96;
  }
}

#undef QSIM_WGMMA_32
#undef QSIM_WGMMA_48
#undef QSIM_WGMMA_64
#undef QSIM_WGMMA_96

}  // namespace qsim::golden::cuda
