#include "bench/golden_cpu/multiply_peak.h"

#include <algorithm>

#include "bench/common/cpu_clock.h"

namespace qsim::bench {
namespace {

using golden::VectorPath;

#if defined(__x86_64__)
// A call is kRepeats times twelve multiply-accumulates into registers of their own: more than a
// latency of 5 on 2 ports, and no more than 16 registers have room for.
constexpr int kIndependent = 12;
constexpr int kRepeats = 4;
constexpr int kCalls = 300'000;
constexpr int kTrials = 9;

// Assembly, because a compiler is free to merge or drop what only a clock looks at. Registers 13
// and 14 are the operands, 12 a product.
#define QSIM_TWELVE(STEP)                                                                        \
  asm volatile(".rept 4\n\t" STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)     \
                   STEP(8) STEP(9) STEP(10) STEP(11) ".endr\n\t" ::                              \
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                         "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14")
#define QSIM_AVX512_VNNI_STEP(n) "vpdpbusd %%zmm13, %%zmm14, %%zmm" #n "\n\t"
#define QSIM_AVX_VNNI_STEP(n) "%{vex%} vpdpbusd %%ymm13, %%ymm14, %%ymm" #n "\n\t"
#define QSIM_AVX2_STEP(n)                  \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm12\n\t" \
  "vpaddd %%ymm12, %%ymm" #n ", %%ymm" #n "\n\t"
#define QSIM_SSE2_STEP(n)        \
  "movdqa %%xmm13, %%xmm12\n\t"  \
  "pmaddwd %%xmm14, %%xmm12\n\t" \
  "paddd %%xmm12, %%xmm" #n "\n\t"

__attribute__((target("avx512f,avx512vnni"))) void multiply_avx512_vnni() {
  QSIM_TWELVE(QSIM_AVX512_VNNI_STEP);
}
__attribute__((target("avx2,avxvnni"))) void multiply_avx_vnni() {
  QSIM_TWELVE(QSIM_AVX_VNNI_STEP);
}
__attribute__((target("avx2"))) void multiply_avx2() { QSIM_TWELVE(QSIM_AVX2_STEP); }
void multiply_sse2() { QSIM_TWELVE(QSIM_SSE2_STEP); }
__attribute__((target("avx"))) void clear_upper_halves() { asm volatile("vzeroupper"); }
#endif

struct Limit {
  std::string_view instructions;
  int macs = 0;  // of one step
  void (*multiply)() = nullptr;
};

Limit limit_of(VectorPath path) {
  switch (golden::resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return {"vpdpbusd, 512 bits", 64, multiply_avx512_vnni};
    case VectorPath::kAvxVnni:
      return {"vpdpbusd, 256 bits", 32, multiply_avx_vnni};
    case VectorPath::kAvx2:
      return {"vpmaddwd and vpaddd, 256 bits", 16, multiply_avx2};
    case VectorPath::kPortable:
      return {"pmaddwd and paddd, 128 bits", 8, multiply_sse2};
#endif
    default:
      return {"none known", 0, nullptr};
  }
}

}  // namespace

std::string_view multiply_instructions(VectorPath path) { return limit_of(path).instructions; }

std::optional<double> multiply_peak_macs_per_second(VectorPath path) {
  const Limit limit = limit_of(path);
  if (limit.multiply == nullptr || !golden::is_available(path)) return std::nullopt;
#if defined(__x86_64__)
  double best_seconds = 1e9;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = cpu_seconds();
    for (int i = 0; i < kCalls; ++i) limit.multiply();
    best_seconds = std::min(best_seconds, cpu_seconds() - begin);
  }
  // The callers' code without AVX would be slow beside registers whose upper halves are in use.
  if (golden::is_available(VectorPath::kAvx2)) clear_upper_halves();
  return static_cast<double>(kCalls) * kRepeats * kIndependent * limit.macs / best_seconds;
#else
  return std::nullopt;
#endif
}

}  // namespace qsim::bench
