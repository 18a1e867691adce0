// Pairs of kernels that differ by one instruction: `With` has it. cuda_code_test.py compares their
// machine code to compare its table of opcodes with the compiler. Never run.
#include <cstdint>

#include <cuda.h>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PROBE_HOPPER 1
#else
#define PROBE_HOPPER 0
#endif

template <bool With>
__global__ void probe_imma(int* out, unsigned a, unsigned b) {
  int d[4] = {};
  if constexpr (With) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a), "r"(a + 1), "r"(a + 2), "r"(a + 3), "r"(b), "r"(b + 1));
  }
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
template __global__ void probe_imma<true>(int*, unsigned, unsigned);
template __global__ void probe_imma<false>(int*, unsigned, unsigned);

#if PROBE_HOPPER || !defined(__CUDA_ARCH__)
template <bool With>
__global__ void probe_igmma(int* out, std::uint64_t a, std::uint64_t b) {
#if PROBE_HOPPER
  int d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  if constexpr (With) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {%0,%1,%2,%3}, %4, %5, p;\n}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "l"(a), "l"(b));
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
#endif
}
template __global__ void probe_igmma<true>(int*, std::uint64_t, std::uint64_t);
template __global__ void probe_igmma<false>(int*, std::uint64_t, std::uint64_t);

// Kind 0 copies nothing, 1 a tile, 2 through im2col.
template <int Kind>
__global__ void probe_utmaldg(const __grid_constant__ CUtensorMap map, int x, int* out) {
#if PROBE_HOPPER
  __shared__ alignas(1024) char box[4096];
  __shared__ std::uint64_t barrier;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(box));
  const auto bar = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if constexpr (Kind == 1) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%3,%3,%3,%3}], [%2];" ::"r"(to),
        "l"(&map), "r"(bar), "r"(x)
        : "memory");
  }
  if constexpr (Kind == 2) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%3,%3,%3,%3}], [%2], {%4,%4};" ::"r"(to),
        "l"(&map), "r"(bar), "r"(x), "h"(static_cast<std::uint16_t>(1))
        : "memory");
  }
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x] + static_cast<int>(barrier);
#endif
}
template __global__ void probe_utmaldg<0>(const __grid_constant__ CUtensorMap, int, int*);
template __global__ void probe_utmaldg<1>(const __grid_constant__ CUtensorMap, int, int*);
template __global__ void probe_utmaldg<2>(const __grid_constant__ CUtensorMap, int, int*);

// Kind 1 waits for the kernel before it and loads, 2 loads and waits.
template <int Kind>
__global__ void probe_wait(int* out, const int* in) {
#if PROBE_HOPPER
  int loaded = 0;
  if constexpr (Kind == 2) loaded = *reinterpret_cast<const volatile int*>(in);
  if constexpr (Kind != 0) asm volatile("griddepcontrol.wait;" ::: "memory");
  if constexpr (Kind == 1) loaded = *in;
  out[threadIdx.x] = loaded;
#endif
}
template __global__ void probe_wait<0>(int*, const int*);
template __global__ void probe_wait<1>(int*, const int*);
template __global__ void probe_wait<2>(int*, const int*);
#endif

// 80 values live across a barrier; bound to 32 registers (2 x 1024 threads) they spill, with 255
// not.
template <int Blocks>
__global__ void __launch_bounds__(Blocks == 2 ? 1024 : 128, Blocks)
    probe_spill(int* out, const int* in) {
  int a[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) a[i] = in[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 80; ++i) out[i * 1024 + threadIdx.x] = a[79 - i] * a[i * 7 % 80];
}
template __global__ void probe_spill<1>(int*, const int*);
template __global__ void probe_spill<2>(int*, const int*);
