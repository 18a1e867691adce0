// The vectors of 8 and of 4 lanes that array_block.h works with, without their multiply_add: each
// vector path adds its own. Included after QSIM_INLINE is defined.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#if !defined(QSIM_INLINE)
#error "define QSIM_INLINE"
#endif

namespace qsim::sim {
namespace {

struct Vector8 {
  using Register = __m256i;
  static constexpr std::size_t kLanes = 8;
  QSIM_INLINE Register load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  QSIM_INLINE void store(void* to, Register value) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
  QSIM_INLINE Register add(Register a, Register b) { return _mm256_add_epi32(a, b); }
  QSIM_INLINE Register sub(Register a, Register b) { return _mm256_sub_epi32(a, b); }
  QSIM_INLINE Register broadcast(const std::uint32_t* from) {
    return _mm256_set1_epi32(static_cast<int>(*from));
  }
};

struct Vector4 {
  using Register = __m128i;
  static constexpr std::size_t kLanes = 4;
  QSIM_INLINE Register load(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  QSIM_INLINE void store(void* to, Register value) {
    _mm_storeu_si128(static_cast<__m128i*>(to), value);
  }
  QSIM_INLINE Register add(Register a, Register b) { return _mm_add_epi32(a, b); }
  QSIM_INLINE Register sub(Register a, Register b) { return _mm_sub_epi32(a, b); }
  // GCC 12 makes a load and a shuffle of every intrinsic for this, and shuffles take the ports of
  // multiplications.
  QSIM_INLINE Register broadcast(const std::uint32_t* from) {
    Register value;
    asm("vpbroadcastd %1, %0" : "=v"(value) : "m"(*from));
    return value;
  }
};

}  // namespace
}  // namespace qsim::sim
