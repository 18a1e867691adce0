// Whether this processor has AVX-VNNI: the multiply-adds of AVX-512 VNNI on 256-bit registers.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace qsim {

// CPUID leaf 7, subleaf 1, EAX bit 4, which not every compiler's __builtin_cpu_supports knows.
// "avx2" says that the operating system keeps the registers.
inline bool processor_has_avx_vnni() {
#if defined(__x86_64__)
  constexpr unsigned kAvxVnniBit = 1U << 4;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (!__builtin_cpu_supports("avx2") || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 ||
      eax < 1) {  // leaf 7 has no subleaf 1
    return false;
  }
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvxVnniBit) != 0;
#else
  return false;
#endif
}

}  // namespace qsim
