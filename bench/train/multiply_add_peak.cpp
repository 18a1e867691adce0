#include "bench/train/multiply_add_peak.h"

#include <algorithm>

#include "bench/common/cpu_clock.h"

namespace qsim::bench {
namespace {

using golden::VectorPath;

#if defined(__x86_64__)
// Twelve sums of their own: more than a latency of 5 on 2 ports.
constexpr int kIndependent = 12;
constexpr int kRepeats = 8;
constexpr int kCalls = 200'000;
constexpr int kTrials = 9;

// Assembly, because a compiler is free to merge or drop what only a clock looks at.
#define QSIM_TWELVE(STEP)                                                                        \
  asm volatile(".rept 8\n\t" STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)     \
                   STEP(8) STEP(9) STEP(10) STEP(11) ".endr\n\t" ::                              \
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                         "xmm9", "xmm10", "xmm11", "xmm13", "xmm14")
#define QSIM_512_STEP(n) "vfmadd231ps %%zmm13, %%zmm14, %%zmm" #n "\n\t"
#define QSIM_256_STEP(n) "vfmadd231ps %%ymm13, %%ymm14, %%ymm" #n "\n\t"

// The registers start from 0: numbers below the normal ones would be slow.
__attribute__((target("avx512f"))) void multiply_512() {
  asm volatile("vzeroall" ::: "xmm0", "xmm13", "xmm14");
  QSIM_TWELVE(QSIM_512_STEP);
}
__attribute__((target("avx2,fma"))) void multiply_256() {
  asm volatile("vzeroall" ::: "xmm0", "xmm13", "xmm14");
  QSIM_TWELVE(QSIM_256_STEP);
}
__attribute__((target("avx"))) void clear_upper_halves() { asm volatile("vzeroupper"); }
#endif

struct Limit {
  std::string_view instruction;
  int lanes = 0;
  void (*multiply)() = nullptr;
};

Limit limit_of(VectorPath path) {
  switch (golden::resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return {"vfmadd231ps, 512 bits", 16, multiply_512};
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return {"vfmadd231ps, 256 bits", 8, multiply_256};
#endif
    default:
      return {};
  }
}

}  // namespace

std::string_view multiply_add_instruction(VectorPath path) { return limit_of(path).instruction; }

std::optional<double> multiply_add_peak(VectorPath path) {
  const Limit limit = limit_of(path);
  if (limit.multiply == nullptr || !golden::is_available(path)) return std::nullopt;
#if defined(__x86_64__)
  double best_seconds = 1e9;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = cpu_seconds();
    for (int i = 0; i < kCalls; ++i) limit.multiply();
    best_seconds = std::min(best_seconds, cpu_seconds() - begin);
  }
  clear_upper_halves();
  return static_cast<double>(kCalls) * kRepeats * kIndependent * limit.lanes / best_seconds;
#else
  return std::nullopt;
#endif
}

}  // namespace qsim::bench
