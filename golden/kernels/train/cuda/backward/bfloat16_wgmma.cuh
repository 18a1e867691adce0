// The warpgroup multiply-accumulate on bfloat16, sums in float32: PTX ISA 9.0, section 9.7.15. A
// thread's sums are as golden/device/hopper.cuh has those of int8.
#pragma once

#include "golden/device/hopper.cuh"

namespace qsim::golden::train::cuda {

// Keeps the compiler from moving uses of the sums across.
template <int kCount>
__device__ inline void pin(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// d[64][128] += a[64][16] * b[128][16]^T, both K-major in shared memory.
__device__ inline void wgmma_128(float (&d)[64], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, 1, 1, 1, 0, 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63])
      : "l"(a), "l"(b));
}

// d[64][64] += a[64][16] * b[64][16]^T, the sums being 32 of d's from kFirst.
template <int kFirst>
__device__ inline void wgmma_64_of(float (&d)[64], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, 1, 1, 1, 0, 0;\n"
      : "+f"(d[kFirst]), "+f"(d[kFirst + 1]), "+f"(d[kFirst + 2]), "+f"(d[kFirst + 3]),
        "+f"(d[kFirst + 4]), "+f"(d[kFirst + 5]), "+f"(d[kFirst + 6]), "+f"(d[kFirst + 7]),
        "+f"(d[kFirst + 8]), "+f"(d[kFirst + 9]), "+f"(d[kFirst + 10]), "+f"(d[kFirst + 11]),
        "+f"(d[kFirst + 12]), "+f"(d[kFirst + 13]), "+f"(d[kFirst + 14]), "+f"(d[kFirst + 15]),
        "+f"(d[kFirst + 16]), "+f"(d[kFirst + 17]), "+f"(d[kFirst + 18]), "+f"(d[kFirst + 19]),
        "+f"(d[kFirst + 20]), "+f"(d[kFirst + 21]), "+f"(d[kFirst + 22]), "+f"(d[kFirst + 23]),
        "+f"(d[kFirst + 24]), "+f"(d[kFirst + 25]), "+f"(d[kFirst + 26]), "+f"(d[kFirst + 27]),
        "+f"(d[kFirst + 28]), "+f"(d[kFirst + 29]), "+f"(d[kFirst + 30]), "+f"(d[kFirst + 31])
      : "l"(a), "l"(b));
}

// d[64][64] += a[64][16] * b[16][64]: a in registers as multiply_bfloat16() has it, for each warp
// its 16 rows; b in shared memory with rows of 64 columns.
__device__ inline void wgmma_turned_64(float (&d)[32], const std::uint32_t (&a)[4],
                                       std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

}  // namespace qsim::golden::train::cuda
