// The codes of chunks to FP16 and BF16, and of INT4 to FP8: the definition of
// golden/kernels/convert/group_arithmetic.h in few instructions.
#pragma once

#include "golden/kernels/convert/cuda/encode.cuh"

namespace qsim::golden::cuda {

__device__ inline std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  return __byte_perm(a, b, selector);
}

// Pairs of FP16 numbers: products and differences that are exact.
__device__ inline std::uint32_t times(std::uint32_t halves, std::uint32_t factors) {
  std::uint32_t result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(halves), "r"(factors));
  return result;
}
__device__ inline std::uint32_t minus(std::uint32_t halves, std::int32_t number) {
  std::uint32_t result;
  asm("{.reg .f16 h; .reg .b32 pair; cvt.rn.f16.f32 h, %2; mov.b32 pair, {h, h};"
      " sub.rn.f16x2 %0, %1, pair;}"
      : "=r"(result)
      : "r"(halves), "f"(static_cast<float>(number)));
  return result;
}

// The number of an E4M3 code: FP16 has its bits one place lower, and its exponent bias is 8 more.
__device__ inline float e4m3_number(std::uint32_t code) {
  float low, high;
  split_halves(times((code & 0x80) << 8 | (code & 0x7F) << 7, 0x5C005C00), low, high);
  return (code & 0x7F) == 0x7F ? float_of(kFp32Nan) : low;
}

// The numbers (number_of) of 4 bytes, finite ones.
template <ElementFormat source>
__device__ inline void numbers_of_bytes(std::uint32_t word, std::int32_t zero_point, float* y) {
  if constexpr (source == ElementFormat::kInt8) word ^= 0x80808080;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    std::uint32_t halves;
    if constexpr (source == ElementFormat::kInt8) {
      // 1024 + code + 128
      halves = minus(permute(word, 0x64646464, i == 0 ? 0x4140 : 0x4342), 1152 + zero_point);
    } else {
      halves = permute(word, 0, i == 0 ? 0x1404 : 0x3424);  // E5M2 is the upper half of FP16
      if constexpr (source == ElementFormat::kE4m3) {
        // The exponent bias of FP16 is 8 more: times 256.
        halves = times((halves & 0x80008000) | (halves & 0x7F007F00) >> 1, 0x5C005C00);
      }
    }
    split_halves(halves, y[2 * i], y[2 * i + 1]);
  }
}

// The numbers of 8 nibbles; nibbles i and i + 4 are 16 bits apart.
template <ElementFormat source>
__device__ inline void numbers_of_nibbles(std::uint32_t word, std::int32_t zero_point, float* y) {
  if constexpr (source == ElementFormat::kInt4) word ^= 0x88888888;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t halves;
    if constexpr (source == ElementFormat::kInt4) {
      halves = minus((word >> (4 * i) & 0x000F000F) | 0x64006400, 1032 + zero_point);
    } else {
      // The exponent bias of FP16 is 14 more: times 16384.
      const std::uint32_t magnitude = i < 3 ? word << (9 - 4 * i) : word >> 3;
      halves = times((magnitude & 0x0E000E00) | (word << (12 - 4 * i) & 0x80008000), 0x74007400);
    }
    split_halves(halves, y[i], y[i + 4]);
  }
}

// 8 elements as they are stored.
struct CodeChunk {
  std::uint32_t first, second;
};

template <ElementFormat source>
__device__ inline std::uint32_t code_at(CodeChunk codes, int i) {
  if constexpr (source >= ElementFormat::kInt4) return codes.first >> (4 * i) & 15;
  return (i < 4 ? codes.first : codes.second) >> (8 * (i % 4)) & 255;
}

// Whether one of the codes is infinity or NaN.
template <ElementFormat source>
__device__ inline bool has_special(CodeChunk codes) {
  if constexpr (source == ElementFormat::kE4m3 || source == ElementFormat::kE5m2) {
    constexpr std::uint32_t kToSign = source == ElementFormat::kE4m3 ? 0x01010101 : 0x04040404;
    const std::uint32_t reached =
        ((codes.first & 0x7F7F7F7F) + kToSign) | ((codes.second & 0x7F7F7F7F) + kToSign);
    return (reached & 0x80808080) != 0;
  } else {
    return false;
  }
}

// encode(number times scale) of 8 elements of any bits, NaN and infinities among them, in words of
// `bits` a code.
template <ElementFormat source, int bits, typename Encode>
__device__ inline uint4 slow_codes(CodeChunk codes, const GroupScale& scale, Encode encode) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
#pragma unroll 1
  for (int i = 0; i < kChunk; ++i) {
    const float number = number_of<source>(code_at<source>(codes, i), scale.zero_point);
    const std::uint64_t code = encode(product(number, scale.scale));
    (i * bits < 64 ? low : high) |= code << (i * bits % 64);
  }
  return make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
}

// Whether the products of a chunk need slow_codes().
template <ElementFormat source>
__device__ inline bool is_slow(CodeChunk codes, const GroupScale& scale) {
  return !(fabsf(scale.scale) < float_of(kFp32Infinity)) || has_special<source>(codes);
}

// number times scale of 8 finite elements.
template <ElementFormat source>
__device__ inline void finite_products(CodeChunk codes, const GroupScale& scale, float* y) {
  if constexpr (source >= ElementFormat::kInt4) {
    numbers_of_nibbles<source>(codes.first, scale.zero_point, y);
  } else {
    numbers_of_bytes<source>(codes.first, scale.zero_point, y);
    numbers_of_bytes<source>(codes.second, scale.zero_point, y + 4);
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) y[i] = __fmul_rn(y[i], scale.scale);
}

template <ElementFormat target>
__device__ inline std::uint32_t half_pair(float low, float high) {
  std::uint32_t pair;
  if constexpr (target == ElementFormat::kHalf) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

// 8 elements as 16-bit codes: of finite products, and of any.
template <ElementFormat source, ElementFormat target>
__device__ inline uint4 finite_halves(CodeChunk codes, const GroupScale& scale) {
  float y[kChunk];
  finite_products<source>(codes, scale, y);
  return make_uint4(half_pair<target>(y[0], y[1]), half_pair<target>(y[2], y[3]),
                    half_pair<target>(y[4], y[5]), half_pair<target>(y[6], y[7]));
}
template <ElementFormat source, ElementFormat target>
__device__ inline uint4 slow_halves(CodeChunk codes, const GroupScale& scale) {
  return slow_codes<source, 16>(codes, scale, [](float number) -> std::uint32_t {
    return target == ElementFormat::kHalf ? half_from_float(number) : bfloat16_from_float(number);
  });
}

// 8 INT4 elements as FP8.
template <ElementFormat target, bool software>
__device__ inline Codes finite_fp8(CodeChunk codes, const GroupScale& scale) {
  float y[kChunk];
  finite_products<ElementFormat::kInt4>(codes, scale, y);
  return encode_chunk<target, software, Care::kAll>(y, 0, {0, 0});
}
template <ElementFormat target>
__device__ inline Codes slow_fp8(CodeChunk codes, const GroupScale& scale) {
  constexpr FloatFormat kFormat = target == ElementFormat::kE4m3 ? kFp8E4m3 : kFp8E5m2;
  const uint4 words = slow_codes<ElementFormat::kInt4, 8>(
      codes, scale, [](float number) { return encode<kFormat>(bits_of(number)); });
  return {words.x, words.y};
}

// What a kernel writes: the words of `Work::kElems` elements of codes, 16 bytes, quickly where
// they are not slow.
template <ElementFormat source, ElementFormat target>
struct Dequantize {
  static constexpr int kElems = kChunk;
  static constexpr int kBytes = 2;  // of an element
  static constexpr ElementFormat kSource = source;
  using Read = CodeChunk[1];
  __device__ static uint4 quick(const Read& codes, const GroupScale& scale) {
    return finite_halves<source, target>(codes[0], scale);
  }
  __device__ static uint4 slow(const Read& codes, const GroupScale& scale) {
    return slow_halves<source, target>(codes[0], scale);
  }
  __device__ static bool is_slow(const Read& codes, const GroupScale& scale) {
    return cuda::is_slow<source>(codes[0], scale);
  }
};

template <ElementFormat target, bool software>
struct Int4ToFp8Codes {
  static constexpr int kElems = 2 * kChunk;
  static constexpr int kBytes = 1;
  static constexpr ElementFormat kSource = ElementFormat::kInt4;
  using Read = CodeChunk[2];
  __device__ static uint4 quick(const Read& codes, const GroupScale& scale) {
    return joined(finite_fp8<target, software>(codes[0], scale),
                  finite_fp8<target, software>(codes[1], scale));
  }
  __device__ static uint4 slow(const Read& codes, const GroupScale& scale) {
    return joined(slow_fp8<target>(codes[0], scale), slow_fp8<target>(codes[1], scale));
  }
  __device__ static bool is_slow(const Read& codes, const GroupScale& scale) {
    return cuda::is_slow<kSource>(codes[0], scale);
  }

 private:
  __device__ static uint4 joined(Codes low, Codes high) {
    return make_uint4(low.first, low.second, high.first, high.second);
  }
};

}  // namespace qsim::golden::cuda
