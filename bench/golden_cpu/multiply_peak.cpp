#include "bench/golden_cpu/multiply_peak.h"

#include <algorithm>
#include <ctime>

namespace qsim {
namespace {

#if defined(__x86_64__)
constexpr int kMacsPerInstruction = 64;
constexpr int kIndependent = 16;  // more than latency 4 x 2 ports
constexpr int kIterations = 2'000'000;
constexpr int kTrials = 9;

#define QSIM_MULTIPLY(n) "vpdpbusd %%zmm30, %%zmm31, %%zmm" #n "\n\t"

// Assembly, because a compiler is free to merge or drop what only a clock looks at.
__attribute__((target("avx512f,avx512vnni"))) void multiply_sixteen_times() {
  asm volatile(QSIM_MULTIPLY(0) QSIM_MULTIPLY(1) QSIM_MULTIPLY(2) QSIM_MULTIPLY(3) QSIM_MULTIPLY(4)
                   QSIM_MULTIPLY(5) QSIM_MULTIPLY(6) QSIM_MULTIPLY(7) QSIM_MULTIPLY(8)
                       QSIM_MULTIPLY(9) QSIM_MULTIPLY(10) QSIM_MULTIPLY(11) QSIM_MULTIPLY(12)
                           QSIM_MULTIPLY(13) QSIM_MULTIPLY(14) QSIM_MULTIPLY(15)::
                               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                                 "xmm15");
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
#endif

}  // namespace

std::optional<double> vnni_peak_macs_per_second() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512vnni")) return std::nullopt;
  double best_seconds = 1e9;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = cpu_seconds();
    for (int i = 0; i < kIterations; ++i) multiply_sixteen_times();
    best_seconds = std::min(best_seconds, cpu_seconds() - begin);
  }
  return static_cast<double>(kIterations) * kIndependent * kMacsPerInstruction / best_seconds;
#else
  return std::nullopt;
#endif
}

}  // namespace qsim
