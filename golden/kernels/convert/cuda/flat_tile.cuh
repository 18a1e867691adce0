// Tiles of a flat tensor: contiguous, aligned, its groups whole chunks. A lane has its chunks of a
// tile in registers.
#pragma once

#include "golden/kernels/convert/cuda/finite_codes.cuh"
#include "golden/kernels/convert/cuda/scale_access.cuh"

namespace qsim::golden::cuda {

// The chunks of a lane: chunk i is chunk lane + 32 i of the warp's tile.
struct FlatTile {
  Chunk chunks[kLaneChunks];
};

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % 32); }

// Reads the first `count` chunks from `from` on, by lanes that are `stride` apart; others are 0.
__device__ inline FlatTile read_flat(const std::uint16_t* from, int first, int stride, int count) {
  FlatTile tile;
  from += first * kChunk;
#pragma unroll
  for (int i = 0; i < kLaneChunks; ++i) {
    tile.chunks[i] = empty_chunk();
    if (first + stride * i < count) tile.chunks[i] = read_chunk(from + stride * i * kChunk);
  }
  return tile;
}

// The larger magnitudes of two pairs; NaN if one is.
template <ElementFormat source>
__device__ inline std::uint32_t larger_magnitudes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  if constexpr (source == ElementFormat::kHalf) {
    asm("{.reg .f16x2 x, y; abs.f16x2 x, %1; abs.f16x2 y, %2; max.NaN.f16x2 %0, x, y;}"
        : "=r"(result)
        : "r"(a), "r"(b));
  } else {
    asm("{.reg .b32 x, y; abs.bf16x2 x, %1; abs.bf16x2 y, %2; max.NaN.bf16x2 %0, x, y;}"
        : "=r"(result)
        : "r"(a), "r"(b));
  }
  return result;
}

// The largest magnitudes of a lane's chunks, two chunks a word; `all` becomes the largest ones of
// all words.
template <ElementFormat source>
__device__ inline void flat_extents(const FlatTile& tile, std::uint32_t (&words)[kLaneChunks / 2],
                                    std::uint32_t& all) {
  static_assert(kChunk == 8 && kLaneChunks == 8);
#pragma unroll
  for (int i = 0; i < kLaneChunks; i += 2) {
    std::uint32_t largest[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const Chunk& chunk = tile.chunks[i + j];
      largest[j] =
          larger_magnitudes<source>(larger_magnitudes<source>(chunk.pairs[0], chunk.pairs[1]),
                                    larger_magnitudes<source>(chunk.pairs[2], chunk.pairs[3]));
    }
    words[i / 2] = larger_magnitudes<source>(__byte_perm(largest[0], largest[1], 0x5410),
                                             __byte_perm(largest[0], largest[1], 0x7632));
  }
  all = larger_magnitudes<source>(larger_magnitudes<source>(words[0], words[1]),
                                  larger_magnitudes<source>(words[2], words[3]));
}

// Whether a pair of magnitudes has infinity or NaN: they reach the sign bits.
template <ElementFormat source>
__device__ inline bool is_finite_pair(std::uint32_t magnitudes) {
  constexpr std::uint32_t kToSign = (0x8000U - infinity_code(source)) * 0x10001U;
  return ((magnitudes + kToSign) & 0x80008000) == 0;
}

// The codes of a chunk by the definition, element by element, whatever they are.
template <ElementFormat source, ElementFormat target>
__device__ inline Codes encode_by_definition(const Chunk& x, const GroupScale& scale,
                                             IntegerRange range) {
  constexpr int kBits = target >= ElementFormat::kInt4 ? 4 : 8;
  std::uint64_t codes = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint32_t code = quantized<target>(half_number(source, x.element(i)), scale.scale,
                                                 scale.zero_point, range, HalfEven());
    codes |= std::uint64_t{code} << (kBits * i);
  }
  return {static_cast<std::uint32_t>(codes), static_cast<std::uint32_t>(codes >> 32)};
}

template <ElementFormat target>
constexpr int kCodeBytes = target >= ElementFormat::kInt4 ? kChunk / 2 : kChunk;  // of a chunk

// Whether the codes of finite chunks by this scale can be made of quotients by parts: no scale of
// FP16 numbers is too large.
template <ElementFormat source>
__device__ inline bool has_split_divisor(const GroupScale& scale) {
  return source == ElementFormat::kHalf || scale.scale <= kMostSplitDivisor;
}

}  // namespace qsim::golden::cuda
