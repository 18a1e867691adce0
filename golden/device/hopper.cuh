// Hopper's building blocks as thin wrappers over PTX: mbarriers, the bulk tensor copy engine (TMA)
// and the warpgroup multiply-accumulate on int8. PTX ISA 9.0, sections 9.7.13 (mbarrier), 9.7.9
// (bulk tensor copies) and 9.7.15 (wgmma).
#pragma once

#include <cstdint>

#include <cuda.h>

#include "golden/device/launch.cuh"

namespace qsim::golden::cuda {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// A barrier in shared memory with a phase bit: it turns when `count` arrivals and all announced
// bytes have come.
class MBarrier {
 public:
  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count));
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrives, and announces `bytes` that copies will deliver.
  __device__ void arrive_expecting(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }
  // Waits until the phase of this parity is complete.
  __device__ void wait(std::uint32_t parity) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  __device__ std::uint32_t address() const { return shared_address(this); }

 private:
  std::uint64_t state_;
};

// Makes barriers that were just initialised visible to the copy engine.
__device__ inline void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies the map's box at the given coordinates (innermost first) to shared memory; `barrier`
// counts its bytes. Positions outside the tensor arrive as 0.
__device__ inline void copy_box(const CUtensorMap* map, MBarrier& barrier, std::uint32_t to, int c0,
                                int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(c0), "r"(c1), "r"(barrier.address())
      : "memory");
}
__device__ inline void copy_box(const CUtensorMap* map, MBarrier& barrier, std::uint32_t to, int c0,
                                int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(barrier.address())
      : "memory");
}

__device__ inline void copy_box(const CUtensorMap* map, MBarrier& barrier, std::uint32_t to, int c0,
                                int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "r"(barrier.address())
      : "memory");
}

// Stores a box from shared memory at the given coordinates of the map's tensor; what lies outside
// is left out, and the lines are the first to leave the L2 cache. By one thread, which other
// threads told of their writes (fence_shared_for_wgmma(), then a barrier), and which commits and
// waits.
__device__ inline void store_box(const CUtensorMap* map, std::uint32_t from, int c0, int c1, int c2,
                                 int c3) {
  asm volatile(
      "{\n.reg .b64 first;\ncreatepolicy.fractional.L2::evict_first.b64 first, 1.0;\n"
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint "
      "[%0, {%2, %3, %4, %5}], [%1], first;\n}\n" ::"l"(map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but the last kPending commits of this thread have read shared memory.
template <int kPending>
__device__ inline void wait_for_stores_to_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Copies `bytes` (a multiple of 16) to shared memory; `barrier` counts them.
__device__ inline void copy_bytes(const void* from, std::uint32_t to, std::uint32_t bytes,
                                  MBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier.address())
      : "memory");
}

// Arrives at `barrier` once all copies that this thread started have ended.
__device__ inline void arrive_after_copies(MBarrier& barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier.address())
               : "memory");
}
// What threads wrote to shared memory, and this one was told of, the tensor cores may read.
__device__ inline void fence_shared_for_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A K-major operand in shared memory whose rows of kRowBytes (64 or 128) are swizzled as the copy
// engine swizzles them; `group_bytes` lie between one group of 8 rows and the next. The swizzle is
// a function of the address alone, so that a matrix may start at any row of a 1024-byte aligned
// buffer. Advancing by 32 bytes along K adds 2.
template <int kRowBytes>
__device__ inline std::uint64_t operand(std::uint32_t address, std::uint32_t group_bytes) {
  constexpr std::uint64_t kSwizzle = kRowBytes == 128 ? 1 : 2;
  return (std::uint64_t{address & 0x3FFFFu} >> 4) | (std::uint64_t{1} << 16) |
         (std::uint64_t{group_bytes >> 4} << 32) | (kSwizzle << 62);
}

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most kPending groups of this warpgroup are unfinished.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving uses of the accumulators across.
template <int kCount>
__device__ inline void pin(std::int32_t (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(values[i])::"memory");
}

// Registers of the calling warpgroup.
template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

// d[64][kN] (+)= a[64][32] * b[kN][32]^T: a holds uint8 or int8, b int8; sums wrap mod 2^32. A
// thread of the warpgroup (warp w, g = lane / 4, q = lane % 4) holds in d[4 * j + 2 * h + e] row 16
// * w + g + 8 * h, column 8 * j + 2 * q + e.
template <int kN, bool kUnsigned>
__device__ void wgmma(std::int32_t (&d)[kN / 2], std::uint64_t a, std::uint64_t b, int accumulate);

#define QSIM_WGMMA_64(types)                                                                       \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n64k32.s32." types                                          \
      " {"                                                                                         \
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
      : "l"(a), "l"(b), "r"(accumulate))

template <>
__device__ inline void wgmma<64, false>(std::int32_t (&d)[32], std::uint64_t a, std::uint64_t b,
                                        int accumulate) {
  QSIM_WGMMA_64("s8.s8");
}

template <>
__device__ inline void wgmma<64, true>(std::int32_t (&d)[32], std::uint64_t a, std::uint64_t b,
                                       int accumulate) {
  QSIM_WGMMA_64("u8.s8");
}

#undef QSIM_WGMMA_64

#define QSIM_WGMMA_128(types)                                                                      \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n128k32.s32." types                                         \
      " {"                                                                                         \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                           \
      "%8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, "                                                   \
      "%24, %25, %26, %27, %28, %29, %30, %31, "                                                   \
      "%32, %33, %34, %35, %36, %37, %38, %39, "                                                   \
      "%40, %41, %42, %43, %44, %45, %46, %47, "                                                   \
      "%48, %49, %50, %51, %52, %53, %54, %55, "                                                   \
      "%56, %57, %58, %59, %60, %61, %62, %63"                                                     \
      "}, %64, %65, p;\n}\n"                                                                       \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),        \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),    \
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), \
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), \
        "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), \
        "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), \
        "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), \
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), \
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), \
        "+r"(d[63])                                                                                \
      : "l"(a), "l"(b), "r"(accumulate))

template <>
__device__ inline void wgmma<128, false>(std::int32_t (&d)[64], std::uint64_t a, std::uint64_t b,
                                         int accumulate) {
  QSIM_WGMMA_128("s8.s8");
}

template <>
__device__ inline void wgmma<128, true>(std::int32_t (&d)[64], std::uint64_t a, std::uint64_t b,
                                        int accumulate) {
  QSIM_WGMMA_128("u8.s8");
}

#undef QSIM_WGMMA_128

#define QSIM_WGMMA_256(types)                                                                      \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"                                                \
      "wgmma.mma_async.sync.aligned.m64n256k32.s32." types                                         \
      " {"                                                                                         \
      "%0, %1, %2, %3, %4, %5, %6, %7, "                                                           \
      "%8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, "                                                   \
      "%24, %25, %26, %27, %28, %29, %30, %31, "                                                   \
      "%32, %33, %34, %35, %36, %37, %38, %39, "                                                   \
      "%40, %41, %42, %43, %44, %45, %46, %47, "                                                   \
      "%48, %49, %50, %51, %52, %53, %54, %55, "                                                   \
      "%56, %57, %58, %59, %60, %61, %62, %63, "                                                   \
      "%64, %65, %66, %67, %68, %69, %70, %71, "                                                   \
      "%72, %73, %74, %75, %76, %77, %78, %79, "                                                   \
      "%80, %81, %82, %83, %84, %85, %86, %87, "                                                   \
      "%88, %89, %90, %91, %92, %93, %94, %95, "                                                   \
      "%96, %97, %98, %99, %100, %101, %102, %103, "                                               \
      "%104, %105, %106, %107, %108, %109, %110, %111, "                                           \
      "%112, %113, %114, %115, %116, %117, %118, %119, "                                           \
      "%120, %121, %122, %123, %124, %125, %126, %127"                                             \
      "}, %128, %129, p;\n}\n"                                                                     \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),        \
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),    \
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), \
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), \
        "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), \
        "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), \
        "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), \
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), \
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), \
        "+r"(d[63]), "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), \
        "+r"(d[70]), "+r"(d[71]), "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), \
        "+r"(d[77]), "+r"(d[78]), "+r"(d[79]), "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), \
        "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]), "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), \
        "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]), "+r"(d[96]), "+r"(d[97]), \
        "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),          \
        "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]),        \
        "+r"(d[110]), "+r"(d[111]), "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]),        \
        "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]), "+r"(d[120]), "+r"(d[121]),        \
        "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])         \
      : "l"(a), "l"(b), "r"(accumulate))

template <>
__device__ inline void wgmma<256, false>(std::int32_t (&d)[128], std::uint64_t a, std::uint64_t b,
                                         int accumulate) {
  QSIM_WGMMA_256("s8.s8");
}

#undef QSIM_WGMMA_256

}  // namespace qsim::golden::cuda
