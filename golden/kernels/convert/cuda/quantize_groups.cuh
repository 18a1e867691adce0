// The kernel of groups of any tensor that fit a warp's tile: reads its elements once, finds the
// scale of each group and writes codes and scales. And the kernel that finds the largest extent of
// all groups. quantize_flat.cuh has the fast ones of contiguous tensors.
#pragma once

#include "golden/kernels/convert/cuda/encode.cuh"
#include "golden/kernels/convert/cuda/scale_access.cuh"

namespace qsim::golden::cuda {

// What the lanes of a warp tell each other about the groups of a tile.
struct TileScratch {
  Chunk chunks[kTileChunks];
  std::uint32_t extents[kTileChunks];  // of chunks, then of groups
  Divisor divisors[kTileChunks];
  std::uint32_t bounds[kTileChunks];  // of percentiles
  std::uint32_t counts[kTileChunks];
};

// The groups of a tile. A lane has the tile's chunks lane, lane + 32, ...
struct GroupTile {
  std::int64_t first_group;
  int groups;
  Place first;
};

struct ChunkPlace {
  std::int64_t row, col;
  int count;  // elements; 0: not a chunk
};

__device__ inline int group_in_tile(const QuantizeParams& p, int chunk) {
  return static_cast<int>(static_cast<std::uint32_t>(chunk) * p.group_magic >> 16);
}

__device__ inline ChunkPlace chunk_place(const QuantizeParams& p, Place first, int groups,
                                         int chunk) {
  const int g = group_in_tile(p, chunk);
  if (g >= groups) return {0, 0, 0};
  const Place place = after(first, g, p.layout.groups_per_row);
  const std::int64_t group = p.layout.group == 0 ? p.layout.cols : p.layout.group;
  const std::int64_t begin = (chunk - g * p.chunks_per_group) * kChunk;
  const std::int64_t col = place.part * group + begin;
  const std::int64_t left = min(p.layout.cols - col, group - begin);
  return {place.row, col, static_cast<int>(left < 0 ? 0 : min(left, std::int64_t{kChunk}))};
}

// Reads a tile.
__device__ inline GroupTile read_tile(const QuantizeParams& p, std::int64_t index,
                                      TileScratch& scratch) {
  GroupTile tile;
  const int lane = static_cast<int>(threadIdx.x % 32);
  tile.first_group = index * p.groups_per_tile;
  tile.groups = static_cast<int>(
      min(p.groups - tile.first_group, static_cast<std::int64_t>(p.groups_per_tile)));
  tile.first = place_of(tile.first_group, p.layout.groups_per_row);
#pragma unroll 1
  for (int chunk = lane; chunk < kTileChunks; chunk += 32) {
    const ChunkPlace place = chunk_place(p, tile.first, tile.groups, chunk);
    scratch.chunks[chunk] =
        place.count == 0 ? empty_chunk() : gather_chunk(p.rows, place.row, place.col, place.count);
  }
  return tile;
}

// Limits the extents of the groups to the percentile of their finite magnitudes: the largest number
// that fewer than its rank are below, bit by bit.
template <ElementFormat source>
__device__ inline void clip_to_percentile(const QuantizeParams& p, const GroupTile& tile,
                                          TileScratch& scratch) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint32_t ranks[kLaneChunks] = {};
#pragma unroll 1
  for (int bit = 15; bit >= 0; --bit) {  // first all finite ones are counted
    for (int g = lane; g < tile.groups; g += 32) {
      scratch.counts[g] = 0;
      if (bit == 15) scratch.bounds[g] = 0;
    }
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < kLaneChunks; ++i) {
      const ChunkPlace place = chunk_place(p, tile.first, tile.groups, lane + 32 * i);
      const int g = group_in_tile(p, lane + 32 * i);
      if (place.count == 0) continue;
      const std::uint32_t below =
          bit == 15 ? infinity_code(source)
                    : min(scratch.bounds[g] | 1U << bit, std::uint32_t{infinity_code(source)});
      const Chunk& chunk = scratch.chunks[lane + 32 * i];
      std::uint32_t count = 0;
#pragma unroll
      for (int e = 0; e < kChunk; ++e) {
        if (e < place.count && (chunk.element(e) & 0x7FFFU) < below) ++count;
      }
      atomicAdd(&scratch.counts[g], count);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      const int g = lane + 32 * i;
      if (g >= tile.groups) continue;
      const std::uint32_t count = scratch.counts[g];
      if (bit == 15) {
        ranks[i] =
            count == 0 ? 0 : static_cast<std::uint32_t>(percentile_rank(count, p.percentile));
      } else if (count < ranks[i]) {
        scratch.bounds[g] |= 1U << bit;
      }
    }
    __syncwarp();
  }
}

// The extents of the chunks, to scratch.extents.
template <ElementFormat source>
__device__ inline void find_chunk_extents(const QuantizeParams& p, TileScratch& scratch) {
#pragma unroll 1
  for (int chunk = static_cast<int>(threadIdx.x % 32); chunk < kTileChunks; chunk += 32) {
    bool finite = true;
    scratch.extents[chunk] = chunk_extent<source>(scratch.chunks[chunk], p.rule.zero_point, finite);
  }
}

// The extents of a tile's groups, from those of the chunks.
template <ElementFormat source>
__device__ inline void join_extents(const QuantizeParams& p, const GroupTile& tile,
                                    TileScratch& scratch) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (p.percentile != kWhole) clip_to_percentile<source>(p, tile, scratch);
  __syncwarp();
  // Teams of lanes, a group each.
  const int teams = 32 / p.team;
  for (int first = 0; first < tile.groups; first += teams) {
    const int g = first + lane / p.team;
    std::uint32_t extent = 0;
    if (g < tile.groups) {
      for (int c = lane % p.team; c < p.chunks_per_group; c += p.team) {
        extent = larger_extent(extent, scratch.extents[g * p.chunks_per_group + c]);
      }
    }
    for (int step = p.team / 2; step > 0; step /= 2) {
      extent = larger_extent(extent, __shfl_xor_sync(0xFFFFFFFF, extent, step));
    }
    if (p.percentile != kWhole && g < tile.groups) {
      extent = __vminu2(extent, scratch.bounds[g] * 0x10001);
    }
    // No group that is found later has its chunks before this one's end.
    __syncwarp();
    if (g < tile.groups && lane % p.team == 0) scratch.extents[g] = extent;
    __syncwarp();
  }
}

// The scale of group g of the tile, from its extent: for the lanes, and for whoever reads codes.
template <ElementFormat source>
__device__ inline void make_scale(const QuantizeParams& p, const ScaleRule& rule,
                                  const GroupTile& tile, int g, TileScratch& scratch) {
  const GroupScale scale = rule.of(unpacked(scratch.extents[g]));
  scratch.divisors[g] = divisor_of<source>(scale.scale, scale.zero_point);
  const Place place = after(tile.first, g, p.layout.groups_per_row);
  store_scale(scale, p.scales, p.layout.scale_index(place.row, place.part));
}

__device__ inline std::int64_t tile_of_warp() {
  return static_cast<std::int64_t>(blockIdx.x) * kTileWarps + threadIdx.x / 32;
}

// Writes the codes of a tile.
template <ElementFormat source, ElementFormat target, bool software>
__device__ inline void encode_tile(const QuantizeParams& p, const GroupTile& tile,
                                   const TileScratch& scratch) {
  constexpr int kPerByte = target >= ElementFormat::kInt4 ? 2 : 1;
#pragma unroll 1
  for (int chunk = static_cast<int>(threadIdx.x % 32); chunk < kTileChunks; chunk += 32) {
    const ChunkPlace place = chunk_place(p, tile.first, tile.groups, chunk);
    if (place.count == 0) continue;
    const Divisor divisor = scratch.divisors[group_in_tile(p, chunk)];
    std::uint8_t* out = p.values + place.row * p.layout.row_bytes + place.col / kPerByte;
    if (p.stochastic) {
      const float scale = __fmul_rn(divisor.scale, 1 / divisor.lift);
      const auto index = static_cast<std::uint64_t>(place.row * p.layout.cols + place.col);
      store_codes<target, false>(
          encode_chunk_stochastic<source, target>(scratch.chunks[chunk], scale, divisor.zero_point,
                                                  p.range, p.seed, index),
          out, place.count);
      continue;
    }
    float y[kChunk];
    chunk_quotients<source>(scratch.chunks[chunk], divisor, y);
    store_codes<target, false>(
        encode_chunk<target, software, Care::kAll>(y, divisor.zero_point, p.range), out,
        place.count);
  }
}

template <ElementFormat source, ElementFormat target, bool software>
__global__ void __launch_bounds__(kTileWarps * 32)
    quantize_groups(const __grid_constant__ QuantizeParams p) {
  __shared__ TileScratch scratches[kTileWarps];
  begin_kernel();
  const int lane = static_cast<int>(threadIdx.x % 32);
  TileScratch& scratch = scratches[threadIdx.x / 32];
  if (tile_of_warp() * p.groups_per_tile >= p.groups) return;
  const GroupTile tile = read_tile(p, tile_of_warp(), scratch);
  find_chunk_extents<source>(p, scratch);
  join_extents<source>(p, tile, scratch);
  ScaleRule rule = p.rule;
  if (p.scales.format == ScaleFormat::kE4m3) {
    rule.set_global({static_cast<std::uint16_t>(p.workspace->whole), 0});
    if (tile.first_group == 0 && lane == 0) *p.scales.global = rule.global;
  }
  for (int g = lane; g < tile.groups; g += 32) make_scale<source>(p, rule, tile, g, scratch);
  __syncwarp();
  encode_tile<source, target, software>(p, tile, scratch);
}

// The largest extent of all groups, to Workspace::whole, which is 0 before.
template <ElementFormat source>
__global__ void __launch_bounds__(kTileWarps * 32)
    find_largest_extent(const __grid_constant__ QuantizeParams p) {
  __shared__ TileScratch scratches[kTileWarps];
  begin_kernel();
  TileScratch& scratch = scratches[threadIdx.x / 32];
  if (tile_of_warp() * p.groups_per_tile >= p.groups) return;
  const GroupTile tile = read_tile(p, tile_of_warp(), scratch);
  find_chunk_extents<source>(p, scratch);
  join_extents<source>(p, tile, scratch);
  __syncwarp();
  std::uint32_t largest = 0;
  for (int g = static_cast<int>(threadIdx.x % 32); g < tile.groups; g += 32) {
    const Extent extent = unpacked(scratch.extents[g]);
    largest = max(largest, static_cast<std::uint32_t>(max(extent.positive, extent.negative)));
  }
  largest = __reduce_max_sync(0xFFFFFFFF, largest);
  if (threadIdx.x % 32 == 0) raise(&p.workspace->whole, largest);
}

}  // namespace qsim::golden::cuda
