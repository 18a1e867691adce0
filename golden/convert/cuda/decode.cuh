// Quantized elements to FP16 and BF16, and INT4 to FP8.
#pragma once

#include "golden/convert/cuda/encode.cuh"
#include "golden/convert/cuda/scale_access.cuh"

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

// number times scale of 8 finite elements; false where there are others.
template <ElementFormat source>
__device__ inline bool finite_products(CodeChunk codes, const GroupScale& scale, float* y) {
  if (!(fabsf(scale.scale) < float_of(kFp32Infinity)) || has_special<source>(codes)) return false;
  if constexpr (source >= ElementFormat::kInt4) {
    numbers_of_nibbles<source>(codes.first, scale.zero_point, y);
  } else {
    numbers_of_bytes<source>(codes.first, scale.zero_point, y);
    numbers_of_bytes<source>(codes.second, scale.zero_point, y + 4);
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) y[i] = __fmul_rn(y[i], scale.scale);
  return true;
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

// 8 elements as 16-bit codes.
template <ElementFormat source, ElementFormat target>
__device__ inline uint4 decode_to_halves(CodeChunk codes, const GroupScale& scale) {
  float y[kChunk];
  if (!finite_products<source>(codes, scale, y)) {
    return slow_codes<source, 16>(codes, scale, [](float number) -> std::uint32_t {
      return target == ElementFormat::kHalf ? half_from_float(number) : bfloat16_from_float(number);
    });
  }
  return make_uint4(half_pair<target>(y[0], y[1]), half_pair<target>(y[2], y[3]),
                    half_pair<target>(y[4], y[5]), half_pair<target>(y[6], y[7]));
}

// 8 INT4 elements as FP8.
template <ElementFormat target, bool software>
__device__ inline Codes decode_to_fp8(CodeChunk codes, const GroupScale& scale) {
  float y[kChunk];
  if (!finite_products<ElementFormat::kInt4>(codes, scale, y)) {
    constexpr FloatFormat kFormat = target == ElementFormat::kE4m3 ? kFp8E4m3 : kFp8E5m2;
    const uint4 words = slow_codes<ElementFormat::kInt4, 8>(
        codes, scale, [](float number) { return encode<kFormat>(bits_of(number)); });
    return {words.x, words.y};
  }
  return encode_chunk<target, software, Care::kAll>(y, 0, {0, 0});
}

// Reads `count` elements, up to a chunk of `elems`.
template <bool packed, int elems>
__device__ inline void read_codes(const std::uint8_t* from, int count, bool aligned,
                                  CodeChunk (&codes)[elems / kChunk]) {
  constexpr int kBytes = packed ? elems / 2 : elems;
  if (aligned || (count == elems && reinterpret_cast<std::uintptr_t>(from) % kBytes == 0)) {
    if constexpr (kBytes == 4) {
      codes[0].first = __ldcs(reinterpret_cast<const std::uint32_t*>(from));
    } else {
      const uint2 words = __ldcs(reinterpret_cast<const uint2*>(from));
      codes[0].first = words.x;
      (packed ? codes[elems / kChunk - 1].first : codes[0].second) = words.y;
    }
    return;
  }
  const int bytes = packed ? (count + 1) / 2 : count;
  std::uint32_t words[2] = {0, 0};
  for (int i = 0; i < bytes; ++i) words[i / 4] |= std::uint32_t{from[i]} << (8 * (i % 4));
  codes[0].first = words[0];
  (packed ? codes[elems / kChunk - 1].first : codes[0].second) |= words[1];
}

// A flat tensor's elements in chunks of `elems`: reads those of a thread, then calls
// write(codes, scale, row-major index of the first element) for each.
template <bool packed, int elems, typename Write>
__device__ inline void decode_flat_tile(const DecodeParams& p, Write write) {
  constexpr int kBytes = packed ? elems / 2 : elems;
  const std::int64_t first_group = static_cast<std::int64_t>(blockIdx.x) * p.groups_per_tile;
  const std::int64_t first = first_group * p.chunks_per_group;
  const auto chunks = static_cast<std::uint32_t>(
      min(p.groups - first_group, static_cast<std::int64_t>(p.groups_per_tile)) *
      p.chunks_per_group);
  const std::uint8_t* from = p.values + first * kBytes;
  CodeChunk codes[kDecodeChunks][elems / kChunk] = {};
  GroupScale scales[kDecodeChunks];
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    const std::uint32_t at = threadIdx.x + kDecodeThreads * i;
    if (at >= chunks) continue;
    read_codes<packed, elems>(from + at * kBytes, elems, true, codes[i]);
    scales[i] = scale_at(p.scales, first_group + (at * p.group_magic >> 16));
    if (!p.with_scale) scales[i].scale = 1;
  }
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    const std::uint32_t at = threadIdx.x + kDecodeThreads * i;
    if (at < chunks) write(codes[i], scales[i], (first + at) * elems);
  }
}

// The same of any tensor, one chunk after the other; write has a count too.
template <bool packed, int elems, typename Write>
__device__ inline void decode_any_tile(const DecodeParams& p, Write write) {
  const std::int64_t all = p.layout.rows * p.chunks_per_row;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * (kDecodeThreads * kDecodeChunks);
  const Place first = place_of(begin, p.chunks_per_row);
#pragma unroll 1
  for (int i = 0; i < kDecodeChunks; ++i) {
    const int at = static_cast<int>(threadIdx.x) + kDecodeThreads * i;
    if (begin + at >= all) break;
    const Place place = after(first, at, p.chunks_per_row);
    const std::int64_t col = place.part * elems;
    const int count = static_cast<int>(min(p.layout.cols - col, std::int64_t{elems}));
    CodeChunk codes[elems / kChunk] = {};
    read_codes<packed, elems>(p.values + place.row * p.layout.row_bytes + col / (packed ? 2 : 1),
                              count, false, codes);
    const std::int64_t group = p.chunks_per_group == 0 ? 0 : place.part / p.chunks_per_group;
    GroupScale scale = scale_at(p.scales, p.layout.scale_index(place.row, group));
    if (!p.with_scale) scale.scale = 1;
    write(codes, scale, place.row * p.layout.cols + col, count);
  }
}

template <int bytes_of_element>
__device__ inline void store_elements(uint4 words, void* out, std::int64_t index, int count,
                                      bool aligned) {
  auto* to = static_cast<std::uint8_t*>(out) + index * bytes_of_element;
  const int bytes = count * bytes_of_element;
  if (aligned || (bytes == 16 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0)) {
    __stcs(reinterpret_cast<uint4*>(to), words);
    return;
  }
  const std::uint32_t parts[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (i < bytes) to[i] = static_cast<std::uint8_t>(parts[i / 4] >> (8 * (i % 4)));
  }
}

template <ElementFormat source, ElementFormat target, bool flat>
__global__ void __launch_bounds__(kDecodeThreads)
    dequantize_chunks(const __grid_constant__ DecodeParams p) {
  begin_kernel();
  const auto write = [&](const CodeChunk(&codes)[1], const GroupScale& scale, std::int64_t index,
                         int count = kChunk) {
    store_elements<2>(decode_to_halves<source, target>(codes[0], scale), p.out, index, count, flat);
  };
  constexpr bool kPacked = source >= ElementFormat::kInt4;
  if constexpr (flat) {
    decode_flat_tile<kPacked, kChunk>(p, write);
  } else {
    decode_any_tile<kPacked, kChunk>(p, write);
  }
}

template <ElementFormat target, bool flat, bool software>
__global__ void __launch_bounds__(kDecodeThreads)
    int4_to_fp8_chunks(const __grid_constant__ DecodeParams p) {
  begin_kernel();
  const auto write = [&](const CodeChunk(&codes)[2], const GroupScale& scale, std::int64_t index,
                         int count = 2 * kChunk) {
    const Codes low = decode_to_fp8<target, software>(codes[0], scale);
    const Codes high = decode_to_fp8<target, software>(codes[1], scale);
    store_elements<1>(make_uint4(low.first, low.second, high.first, high.second), p.out, index,
                      count, flat);
  };
  if constexpr (flat) {
    decode_flat_tile<true, 2 * kChunk>(p, write);
  } else {
    decode_any_tile<true, 2 * kChunk>(p, write);
  }
}

}  // namespace qsim::golden::cuda
