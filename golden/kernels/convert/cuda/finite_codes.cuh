// Codes of chunks whose elements are all finite: the definition of
// golden/kernels/convert/group_arithmetic.h in few instructions.
#pragma once

#include "golden/kernels/convert/cuda/encode.cuh"

namespace qsim::golden::cuda {

// What the elements of a group share, as lanes read it from shared memory.
struct alignas(16) SplitDivisor {
  SplitReciprocal reciprocal;
  float limit;  // elements above it saturate
  std::int32_t zero_point;
};

__device__ inline SplitDivisor split_divisor(const GroupScale& scale, float most_quotient) {
  // Products of larger elements may overflow. With a zero_point a code is up to twice the largest
  // number and 1 away from it.
  return {split_reciprocal(scale.scale), __fmul_rn(scale.scale, 4 * most_quotient),
          scale.zero_point};
}

// The quotients of a chunk; with `clips` of elements that are limited.
template <ElementFormat source, bool clips>
__device__ inline void finite_quotients(const Chunk& x, const SplitDivisor& divisor, float* y) {
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const std::uint32_t pair = x.pairs[i];
    float number[2];
    if constexpr (source == ElementFormat::kHalf) {
      split_halves(pair, number[0], number[1]);
    } else {
      number[0] = __uint_as_float(pair << 16);
      number[1] = __uint_as_float(pair & 0xFFFF0000);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float limited = number[half];
      if constexpr (clips) limited = fminf(fmaxf(limited, -divisor.limit), divisor.limit);
      y[2 * i + half] = quotient_by_parts(limited, divisor.reciprocal);
    }
  }
}

// encode<format>() of a finite number. Normal codes: the bits above the mantissa's, rounded.
// Subnormal ones: the sum with a number whose unit in the last place is theirs. `saturates`: the
// number may round beyond the largest one.
template <FloatFormat format, bool saturates>
__device__ inline std::uint32_t finite_fp8_code(float y) {
  constexpr int kShift = 23 - format.mantissa_bits;
  constexpr int kBias = (1 << (format.exponent_bits - 1)) - 1;
  constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
  constexpr std::uint32_t kMagic = kLeastNormal + (static_cast<std::uint32_t>(kShift) << 23);
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << format.mantissa_bits;
  const std::uint32_t magnitude = bits_of(y) & kFp32Magnitude;
  const std::uint32_t odd = magnitude >> kShift & 1;
  const std::uint32_t normal = ((magnitude + odd + ((1U << (kShift - 1)) - 1)) >> kShift) - kRebias;
  const std::uint32_t subnormal =
      bits_of(__fadd_rn(float_of(magnitude), float_of(kMagic))) - kMagic;
  std::uint32_t code = magnitude < kLeastNormal ? subnormal : normal;
  if constexpr (saturates) code = min(code, format.largest);
  return code | (bits_of(y) >> 24 & 0x80);
}

// The signs of 8 elements, each in the upper bit of its nibble.
__device__ inline std::uint32_t nibble_signs(const Chunk& x) {
  const std::uint32_t first = __byte_perm(x.pairs[0], x.pairs[1], 0x7351);
  const std::uint32_t last = __byte_perm(x.pairs[2], x.pairs[3], 0x7351);
  const std::uint32_t even = __byte_perm(first, last, 0x5410);
  const std::uint32_t odd = __byte_perm(first, last, 0x7632);
  return (even >> 4 & 0x08080808) | (odd & 0x80808080);
}

// 8 codes of FP4 without their signs. The code of a magnitude y is the least of 2 y, y + 2 and
// y / 2 + 4, rounded to the nearest integer: these are the codes below 2, from 2 to 4, and above,
// and the sum with 2^23 rounds once.
template <bool saturates>
__device__ inline std::uint32_t finite_fp4_magnitudes(const float* y) {
  constexpr float kMagic = 0x1p23F;
  std::uint32_t word = 0;
#pragma unroll
  for (int i = kChunk - 1; i >= 0; --i) {
    const float magnitude = fabsf(y[i]);
    float code = fminf(fminf(__fmaf_rn(magnitude, 2.0F, kMagic), __fadd_rn(magnitude, kMagic + 2)),
                       __fmaf_rn(magnitude, 0.5F, kMagic + 4));
    if constexpr (saturates) code = fminf(code, kMagic + 7);
    word = (word << 4) + bits_of(code);
  }
  return word - bits_of(kMagic) * 0x11111111U;
}

// The codes of a finite chunk. `care` says what is known of it: kAll means that elements may be
// above amax.
template <ElementFormat source, ElementFormat target, bool software, Care care>
__device__ inline Codes encode_finite(const Chunk& x, const SplitDivisor& divisor,
                                      IntegerRange range) {
  constexpr bool kSaturates = care != Care::kNone;
  float y[kChunk];
  finite_quotients<source, care == Care::kAll>(x, divisor, y);
  if constexpr (target == ElementFormat::kE2m1) {
    return {finite_fp4_magnitudes<kSaturates>(y) | nibble_signs(x), 0};
  } else if constexpr (target == ElementFormat::kInt8 || target == ElementFormat::kInt4) {
    return encode_chunk < target, software,
           kSaturates ? Care::kSaturate : Care::kNone > (y, divisor.zero_point, range);
  } else if constexpr (kHasFp8Instructions && !software) {
    return encode_chunk<target, software, Care::kNone>(y, 0, range);
  } else {
    constexpr FloatFormat kFormat = target == ElementFormat::kE4m3 ? kFp8E4m3 : kFp8E5m2;
    const auto word = [&](const float* four) {
      return finite_fp8_code<kFormat, kSaturates>(four[0]) |
             finite_fp8_code<kFormat, kSaturates>(four[1]) << 8 |
             finite_fp8_code<kFormat, kSaturates>(four[2]) << 16 |
             finite_fp8_code<kFormat, kSaturates>(four[3]) << 24;
    };
    return {word(y), word(y + 4)};
  }
}

}  // namespace qsim::golden::cuda
