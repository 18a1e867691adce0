// Floating-point loops with one copy for each set of vector instructions, chosen when the program
// starts. The copies give the same bits: a lane computes one element, and the files that use them
// are compiled without fused multiply-adds (-ffp-contract=off, CMakeLists.txt). Sanitizers start
// later than that choice, so their builds take the plain function.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QSIM_QUANTIZE_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define QSIM_QUANTIZE_CLONES
#endif
