// The kernels of a flat tensor whose groups are longer than a tile: a row each, which a block has
// in registers; or the tensor, in two passes.
#pragma once

#include "golden/kernels/convert/cuda/flat_tile.cuh"

namespace qsim::golden::cuda {

// Where a thread's chunks are: `first`, and then `stride` apart, of `count`.
struct ChunkRange {
  int first;
  int stride;
  int count;
};

// The extent of a thread's chunks. `finite` becomes false where an element is not.
template <ElementFormat source>
__device__ inline Extent extent_of(const FlatTile& tile, const std::uint16_t* from,
                                   const ChunkRange& range, bool both, bool& finite) {
  std::uint32_t words[kLaneChunks / 2];
  std::uint32_t all;
  flat_extents<source>(tile, words, all);
  finite = is_finite_pair<source>(all);
  std::uint32_t extent = 0;
  if (!finite) {
#pragma unroll 1
    for (int chunk = range.first; chunk < range.count; chunk += range.stride) {
      extent = larger_extent(extent,
                             slow_extent<source>(read_chunk(from + std::int64_t{chunk} * kChunk)));
    }
    if (!both) extent = max(extent & 0xFFFF, extent >> 16);
  } else if (both) {
#pragma unroll
    for (const Chunk& chunk : tile.chunks) {
      extent = larger_extent(extent, finite_signed_extent(chunk));
    }
  } else {
    extent = max(all & 0xFFFF, all >> 16);
  }
  return unpacked(extent);
}

// Writes the codes of a thread's chunks by one scale.
template <ElementFormat source, ElementFormat target, bool software>
__device__ inline void write_by_scale(const QuantizeParams& p, const FlatTile& tile, bool finite,
                                      const std::uint16_t* from, std::uint8_t* out,
                                      const ChunkRange& range, const GroupScale& scale) {
  constexpr int kBytes = kCodeBytes<target>;
  if (!finite || !has_split_divisor<source>(scale)) {
#pragma unroll 1
    for (int chunk = range.first; chunk < range.count; chunk += range.stride) {
      const Chunk x = read_chunk(from + std::int64_t{chunk} * kChunk);
      store_codes<target, true>(encode_by_definition<source, target>(x, scale, p.range),
                                out + std::int64_t{chunk} * kBytes, kChunk);
    }
    return;
  }
  const SplitDivisor divisor = split_divisor(scale, largest_number(target));
  const auto write = [&](auto care) {
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      const int chunk = range.first + range.stride * i;
      const Codes codes = encode_finite<source, target, software, decltype(care)::value>(
          tile.chunks[i], divisor, p.range);
      if (chunk < range.count) store_codes<target, true>(codes, out + chunk * kBytes, kChunk);
    }
  };
  if (p.clips) {
    write(std::integral_constant<Care, Care::kAll>());
  } else {
    write(std::integral_constant<Care, Care::kSaturate>());
  }
}

// A row by each block.
template <ElementFormat source, ElementFormat target, bool software>
__global__ void __launch_bounds__(kMostRowThreads)
    quantize_rows(const __grid_constant__ QuantizeParams p) {
  __shared__ std::uint32_t positive[kMostRowThreads / 32];
  __shared__ std::uint32_t negative[kMostRowThreads / 32];
  __shared__ GroupScale scale;
  begin_kernel();
  const std::int64_t row = blockIdx.x;
  const std::uint16_t* from = p.rows.data + row * p.layout.cols;
  const ChunkRange range{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x),
                         static_cast<int>(p.chunks_per_row)};
  const FlatTile tile = read_flat(from, range.first, range.stride, range.count);
  bool finite = true;
  const Extent extent = extent_of<source>(tile, from, range, p.rule.zero_point, finite);
  const std::uint32_t largest[2] = {__reduce_max_sync(0xFFFFFFFF, std::uint32_t{extent.positive}),
                                    __reduce_max_sync(0xFFFFFFFF, std::uint32_t{extent.negative})};
  if (lane_of_warp() == 0) {
    positive[threadIdx.x / 32] = largest[0];
    negative[threadIdx.x / 32] = largest[1];
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool is_warp = threadIdx.x < blockDim.x / 32;
    const Extent whole = {static_cast<std::uint16_t>(
                              __reduce_max_sync(0xFFFFFFFF, is_warp ? positive[threadIdx.x] : 0)),
                          static_cast<std::uint16_t>(
                              __reduce_max_sync(0xFFFFFFFF, is_warp ? negative[threadIdx.x] : 0))};
    if (threadIdx.x == 0) {
      ScaleRule rule = p.rule;
      if (p.scales.format == ScaleFormat::kE4m3) {
        rule.set_global({static_cast<std::uint16_t>(p.workspace->whole), 0});
        if (row == 0) *p.scales.global = rule.global;
      }
      scale = rule.of(whole);
      store_scale(scale, p.scales, row);
    }
  }
  __syncthreads();
  write_by_scale<source, target, software>(p, tile, finite, from,
                                           p.values + row * p.layout.row_bytes, range, scale);
}

// The tile of a warp, which is any chunks of the tensor: from the last one on where `backwards`, so
// that what the pass before read last is found in the cache.
struct FlatPart {
  std::int64_t first;
  int count;
};

__device__ inline FlatPart part_of_warp(std::int64_t chunks, bool backwards) {
  const std::int64_t tiles = (chunks + kTileChunks - 1) / kTileChunks;
  const std::int64_t warp = grid_thread() / 32;
  if (warp >= tiles) return {0, 0};
  const std::int64_t first = (backwards ? tiles - 1 - warp : warp) * kTileChunks;
  return {first, static_cast<int>(min(chunks - first, std::int64_t{kTileChunks}))};
}

// The extent of all elements: to positive[0], and negative[0] if that is not null.
template <ElementFormat source>
__global__ void __launch_bounds__(kTileWarps * 32)
    find_flat_extent(const __grid_constant__ QuantizeParams p, std::uint32_t* positive,
                     std::uint32_t* negative) {
  begin_kernel();
  const FlatPart part = part_of_warp(p.layout.rows * p.chunks_per_row, false);
  if (part.count == 0) return;
  const std::uint16_t* from = p.rows.data + part.first * kChunk;
  const ChunkRange range{lane_of_warp(), 32, part.count};
  const FlatTile tile = read_flat(from, range.first, range.stride, range.count);
  bool finite = true;
  const Extent extent = extent_of<source>(tile, from, range, p.rule.zero_point, finite);
  const std::uint32_t above = __reduce_max_sync(0xFFFFFFFF, std::uint32_t{extent.positive});
  const std::uint32_t below = __reduce_max_sync(0xFFFFFFFF, std::uint32_t{extent.negative});
  if (lane_of_warp() != 0) return;
  raise(positive, above);
  if (negative != nullptr) raise(negative, below);
}

// The codes of a tensor that is one group, whose scale is in memory.
template <ElementFormat source, ElementFormat target, bool software>
__global__ void __launch_bounds__(kTileWarps * 32)
    encode_flat(const __grid_constant__ QuantizeParams p) {
  begin_kernel();
  const FlatPart part = part_of_warp(p.layout.rows * p.chunks_per_row, true);
  if (part.count == 0) return;
  const std::uint16_t* from = p.rows.data + part.first * kChunk;
  const ChunkRange range{lane_of_warp(), 32, part.count};
  const FlatTile tile = read_flat(from, range.first, range.stride, range.count);
  std::uint32_t words[kLaneChunks / 2];
  std::uint32_t all;
  flat_extents<source>(tile, words, all);
  write_by_scale<source, target, software>(p, tile, is_finite_pair<source>(all), from,
                                           p.values + part.first * kCodeBytes<target>, range,
                                           scale_at(p.scales, 0));
}

}  // namespace qsim::golden::cuda
