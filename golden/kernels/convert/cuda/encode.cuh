// A chunk of 16-bit elements to codes: the definition of golden/kernels/convert/group_arithmetic.h
// with the quotient as multiplications.
#pragma once

#include "golden/kernels/convert/cuda/tile.cuh"
#include "golden/kernels/convert/philox.h"

namespace qsim::golden::cuda {

// What the elements of a group share. BF16 elements and a small scale are both multiplied by 2^64
// (`lift`), so that no remainder is subnormal.
struct Divisor {
  float scale;       // times lift
  float reciprocal;  // of it, rounded to nearest
  float lift;
  std::int32_t zero_point;
};

template <ElementFormat source>
__device__ inline Divisor divisor_of(float scale, std::int32_t zero_point) {
  const float lift = source == ElementFormat::kBfloat16 && scale < 0x1p-64F ? 0x1p64F : 1.0F;
  const float lifted = __fmul_rn(scale, lift);
  return {lifted, __frcp_rn(lifted), lift, zero_point};
}

// What a kernel knows of the elements of a tile.
enum class Care {
  kAll,       // nothing
  kSaturate,  // they are finite and not above amax; codes may be beyond the range
  kNone       // and the codes are in range
};

// Above these quotients every target saturates.
inline constexpr float kSaturated = 0x1p17F;

// rn32(x / scale), or a number above kSaturated if that is.
__device__ inline float quotient_of(float x, const Divisor& divisor) {
  const float y = quotient_by_reciprocal(x, divisor.scale, divisor.reciprocal);
  const float q = __fmul_rn(x, divisor.reciprocal);
  return fabsf(q) < kSaturated ? y : q;
}

// The two FP16 numbers of a word.
__device__ inline void split_halves(std::uint32_t pair, float& first, float& second) {
  asm("{.reg .f16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
      : "=f"(first), "=f"(second)
      : "r"(pair));
}

template <ElementFormat source>
__device__ inline void chunk_quotients(const Chunk& x, const Divisor& divisor, float* y) {
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const std::uint32_t pair = x.pairs[i];
    float first, second;
    if constexpr (source == ElementFormat::kHalf) {
      split_halves(pair, first, second);
    } else {
      first = __fmul_rn(__uint_as_float(pair << 16), divisor.lift);
      second = __fmul_rn(__uint_as_float(pair & 0xFFFF0000), divisor.lift);
    }
    y[2 * i] = quotient_of(first, divisor);
    y[2 * i + 1] = quotient_of(second, divisor);
  }
}

#if __CUDA_ARCH__ >= 890
inline constexpr bool kHasFp8Instructions = true;
#else
inline constexpr bool kHasFp8Instructions = false;
#endif

// Two FP8 codes, `low` in the low byte.
template <ElementFormat target, bool software>
__device__ inline std::uint32_t fp8_pair(float low, float high) {
#if __CUDA_ARCH__ >= 890
  if constexpr (!software) {
    std::uint16_t codes;
    if constexpr (target == ElementFormat::kE4m3) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    }
    return codes;
  }
#endif
  constexpr FloatFormat kFormat = target == ElementFormat::kE4m3 ? kFp8E4m3 : kFp8E5m2;
  return encode<kFormat>(bits_of(low)) | encode<kFormat>(bits_of(high)) << 8;
}

// encode<kFp4E2m1>(): the sum with 2^22 units in the last place of the result, which are 2 codes of
// a power of two, rounds to that unit.
__device__ inline std::uint32_t fp4_code(float y) {
  const std::uint32_t magnitude = bits_of(fminf(fabsf(y), 6.0F));
  const std::uint32_t exponent = max(magnitude & kFp32Infinity, 0x3F800000U);
  const std::uint32_t magic = exponent + (22U << 23);
  const std::uint32_t sum = bits_of(__fadd_rn(float_of(magnitude), float_of(magic)));
  const std::uint32_t code = sum - magic + (exponent >> 22) - 254;
  return code | (y == y ? bits_of(y) >> 28 & 8 : 0);
}

// 4 bytes or 8 nibbles of integers: round(y) + zero_point, saturated; NaN is the code of 0.
template <int bits, Care care>
__device__ inline std::uint32_t integer_word(const float* y, std::int32_t zero_point,
                                             IntegerRange range) {
  constexpr int kCount = 32 / bits;
  constexpr std::uint32_t kOnes = 0xFFFFFFFFU / ((1U << bits) - 1);
  constexpr std::uint32_t kSign = 1U << (bits - 1);
  constexpr float kMagic = 0x1.8p23F;  // plus an integer, it has it in the last bits
  const auto lo = static_cast<float>(range.lo - zero_point);
  const auto hi = static_cast<float>(range.hi - zero_point);
  std::uint32_t word = 0;
#pragma unroll
  for (int i = kCount - 1; i >= 0; --i) {
    float number = y[i];
    if constexpr (care != Care::kNone) number = fminf(fmaxf(number, lo), hi);
    if constexpr (care == Care::kAll) number = y[i] == y[i] ? number : 0.0F;
    word = (word << bits) + bits_of(__fadd_rn(number, kMagic));
  }
  const auto shift = static_cast<std::uint32_t>(zero_point) + kSign - bits_of(kMagic);
  return (word + shift * kOnes) ^ (kSign * kOnes);
}

// The codes of a chunk: 8 bytes, or 4 of packed formats in `first`.
struct Codes {
  std::uint32_t first, second;
};

template <ElementFormat target, bool software, Care care>
__device__ inline Codes encode_chunk(const float* y, std::int32_t zero_point, IntegerRange range) {
  if constexpr (target == ElementFormat::kInt8) {
    return {integer_word<8, care>(y, zero_point, range),
            integer_word<8, care>(y + 4, zero_point, range)};
  } else if constexpr (target == ElementFormat::kInt4) {
    return {integer_word<4, care>(y, zero_point, range), 0};
  } else if constexpr (target == ElementFormat::kE2m1) {
    std::uint32_t word = 0;
#pragma unroll
    for (int i = kChunk - 1; i >= 0; --i) word = word << 4 | fp4_code(y[i]);
    return {word, 0};
  } else {
    const auto word = [&](const float* four) {
      return fp8_pair<target, software>(four[0], four[1]) |
             fp8_pair<target, software>(four[2], four[3]) << 16;
    };
    return {word(y), word(y + 4)};
  }
}

// The codes by stochastic rounding; `index` is that of the first element.
template <ElementFormat source, ElementFormat target>
__device__ inline Codes encode_chunk_stochastic(Chunk x, float scale, std::int32_t zero_point,
                                                IntegerRange range, std::uint64_t seed,
                                                std::uint64_t index) {
  constexpr int kBits = target >= ElementFormat::kInt4 ? 4 : 8;
  std::uint32_t words[2] = {0, 0};
#pragma unroll 1
  for (int i = 0; i < kChunk; ++i) {
    const std::uint32_t code =
        quantized<target>(half_number(source, x.element(i)), scale, zero_point, range,
                          Stochastic{random_word(seed, index + static_cast<std::uint64_t>(i))});
    words[i * kBits / 32] |= code << (i * kBits % 32);
  }
  return {words[0], words[1]};
}

// Writes the codes of the first `count` elements; the nibble after an odd count is 0.
template <ElementFormat target, bool aligned>
__device__ inline void store_codes(Codes codes, std::uint8_t* out, int count) {
  constexpr bool kPacked = target >= ElementFormat::kInt4;
  constexpr int kBytes = kPacked ? kChunk / 2 : kChunk;
  if (aligned || (count == kChunk && reinterpret_cast<std::uintptr_t>(out) % kBytes == 0)) {
    if constexpr (kPacked) {
      __stcs(reinterpret_cast<std::uint32_t*>(out), codes.first);
    } else {
      __stcs(reinterpret_cast<uint2*>(out), make_uint2(codes.first, codes.second));
    }
    return;
  }
  if (kPacked) codes.first &= count == kChunk ? 0xFFFFFFFFU : (1U << (4 * count)) - 1;
  const int bytes = kPacked ? (count + 1) / 2 : count;
  for (int i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::uint8_t>((i < 4 ? codes.first : codes.second) >> (8 * (i % 4)));
  }
}

}  // namespace qsim::golden::cuda
