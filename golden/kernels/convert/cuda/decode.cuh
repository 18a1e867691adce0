// The kernels that read quantized elements: to FP16 and BF16, and INT4 to FP8.
#pragma once

#include "golden/kernels/convert/cuda/decode_codes.cuh"
#include "golden/kernels/convert/cuda/scale_access.cuh"

namespace qsim::golden::cuda {

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

// The scales of a thread's chunks, of groups[i]. All are read before the first one is used.
__device__ inline void read_scales(const DecodeParams& p,
                                   const std::int64_t (&groups)[kDecodeChunks],
                                   GroupScale (&scales)[kDecodeChunks]) {
  if (p.scales.zero_points != nullptr) {
#pragma unroll
    for (int i = 0; i < kDecodeChunks; ++i) scales[i].zero_point = p.scales.zero_points[groups[i]];
  }
  if (!p.with_scale) return;
  if (p.scales.format == ScaleFormat::kFp32) {
#pragma unroll
    for (int i = 0; i < kDecodeChunks; ++i) scales[i].scale = p.scales.scales[groups[i]];
    return;
  }
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) scales[i].code = p.scales.codes[groups[i]];
  const float global = p.scales.format == ScaleFormat::kE4m3 ? *p.scales.global : 1;
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    scales[i].scale = p.scales.format == ScaleFormat::kUe8m0
                          ? float_of(ue8m0_decode(scales[i].code))
                          : product(e4m3_number(scales[i].code), global);
  }
}

// Converts a flat tensor's elements: those of a thread are read, then written.
template <typename Work>
__device__ inline void decode_flat_tile(const DecodeParams& p) {
  constexpr bool kPacked = Work::kSource >= ElementFormat::kInt4;
  constexpr int kBytes = kPacked ? Work::kElems / 2 : Work::kElems;
  const std::int64_t first_group = static_cast<std::int64_t>(blockIdx.x) * p.groups_per_tile;
  const std::int64_t first = first_group * p.chunks_per_group;
  const auto chunks = static_cast<std::uint32_t>(
      min(p.groups - first_group, static_cast<std::int64_t>(p.groups_per_tile)) *
      p.chunks_per_group);
  const std::uint8_t* from = p.values + first * kBytes;
  typename Work::Read codes[kDecodeChunks] = {};
  std::int64_t groups[kDecodeChunks];
  GroupScale scales[kDecodeChunks];
  // A thread without a chunk reads the last one too, so that nothing branches.
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    const std::uint32_t at = min(threadIdx.x + kDecodeThreads * i, chunks - 1);
    read_codes<kPacked, Work::kElems>(from + at * kBytes, Work::kElems, true, codes[i]);
    groups[i] = first_group + (at * p.group_magic >> 20);
  }
  read_scales(p, groups, scales);
  auto* out = static_cast<uint4*>(p.out) + first + threadIdx.x;
  bool any_slow = false;
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    const uint4 words = Work::quick(codes[i], scales[i]);
    any_slow = any_slow || Work::is_slow(codes[i], scales[i]);
    if (threadIdx.x + kDecodeThreads * i < chunks) __stcs(out + kDecodeThreads * i, words);
  }
  if (!any_slow) return;
#pragma unroll
  for (int i = 0; i < kDecodeChunks; ++i) {
    if (threadIdx.x + kDecodeThreads * i >= chunks || !Work::is_slow(codes[i], scales[i])) continue;
    out[kDecodeThreads * i] = Work::slow(codes[i], scales[i]);
  }
}

template <int bytes_of_element>
__device__ inline void store_elements(uint4 words, void* out, std::int64_t index, int count) {
  auto* to = static_cast<std::uint8_t*>(out) + index * bytes_of_element;
  const int bytes = count * bytes_of_element;
  if (bytes == 16 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    __stcs(reinterpret_cast<uint4*>(to), words);
    return;
  }
  const std::uint32_t parts[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (i < bytes) to[i] = static_cast<std::uint8_t>(parts[i / 4] >> (8 * (i % 4)));
  }
}

// The same for any tensor, one chunk after the other.
template <typename Work>
__device__ inline void decode_any_tile(const DecodeParams& p) {
  constexpr bool kPacked = Work::kSource >= ElementFormat::kInt4;
  const std::int64_t all = p.layout.rows * p.chunks_per_row;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * (kDecodeThreads * kDecodeChunks);
  const Place first = place_of(begin, p.chunks_per_row);
#pragma unroll 1
  for (int i = 0; i < kDecodeChunks; ++i) {
    const int at = static_cast<int>(threadIdx.x) + kDecodeThreads * i;
    if (begin + at >= all) break;
    const Place place = after(first, at, p.chunks_per_row);
    const std::int64_t col = place.part * Work::kElems;
    const int count = static_cast<int>(min(p.layout.cols - col, std::int64_t{Work::kElems}));
    typename Work::Read codes = {};
    read_codes<kPacked, Work::kElems>(
        p.values + place.row * p.layout.row_bytes + col / (kPacked ? 2 : 1), count, false, codes);
    const std::int64_t group = p.chunks_per_group == 0 ? 0 : place.part / p.chunks_per_group;
    GroupScale scale = scale_at(p.scales, p.layout.scale_index(place.row, group));
    if (!p.with_scale) scale.scale = 1;
    const bool slow = Work::is_slow(codes, scale);
    store_elements<Work::kBytes>(slow ? Work::slow(codes, scale) : Work::quick(codes, scale), p.out,
                                 place.row * p.layout.cols + col, count);
  }
}

template <typename Work, bool flat>
__device__ inline void decode_tile(const DecodeParams& p) {
  begin_kernel();
  if constexpr (flat) {
    decode_flat_tile<Work>(p);
  } else {
    decode_any_tile<Work>(p);
  }
}

template <ElementFormat source, ElementFormat target, bool flat>
__global__ void __launch_bounds__(kDecodeThreads)
    dequantize_chunks(const __grid_constant__ DecodeParams p) {
  decode_tile<Dequantize<source, target>, flat>(p);
}

template <ElementFormat target, bool flat, bool software>
__global__ void __launch_bounds__(kDecodeThreads)
    int4_to_fp8_chunks(const __grid_constant__ DecodeParams p) {
  decode_tile<Int4ToFp8Codes<target, software>, flat>(p);
}

}  // namespace qsim::golden::cuda
