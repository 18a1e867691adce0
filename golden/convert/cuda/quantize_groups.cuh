// The kernel of groups that fit a warp's tile: reads its elements once, finds the scale of each
// group and writes codes and scales. And the kernel that finds the largest extent of all groups.
#pragma once

#include "golden/convert/cuda/encode.cuh"
#include "golden/convert/cuda/scale_access.cuh"

namespace qsim::golden::cuda {

// What the lanes of a warp tell each other about the groups of a tile.
template <bool flat>
struct TileScratch {
  Chunk chunks[flat ? 1 : kTileChunks];  // a flat tile is in registers
  std::uint32_t extents[kTileChunks];    // of chunks, then of groups
  Divisor divisors[flat ? kTileChunks / 2 : kTileChunks];
  std::uint32_t bounds[flat ? 1 : kTileChunks];  // of percentiles
  std::uint32_t counts[flat ? 1 : kTileChunks];
};

// The chunks of a lane: chunk i of the tile's chunks lane + 32 i.
template <bool flat>
struct LaneTile {
  Chunk registers[flat ? kLaneChunks : 1];
  std::int64_t first_group;
  int groups;  // of this tile
  Place first;

  // Of a flat tile, i is known when this is compiled.
  __device__ Chunk chunk(int i, const TileScratch<flat>& scratch) const {
    if constexpr (flat) return registers[i];
    return scratch.chunks[static_cast<int>(threadIdx.x % 32) + 32 * i];
  }
};

// How often the loop over a lane's chunks is unrolled.
template <bool flat>
constexpr int kUnrolled = flat ? kLaneChunks : 1;

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

// Reads a tile. `flat`: the tensor is contiguous and aligned, and all its groups are full.
template <bool flat>
__device__ inline LaneTile<flat> read_tile(const QuantizeParams& p, std::int64_t index,
                                           TileScratch<flat>& scratch) {
  LaneTile<flat> tile;
  const int lane = static_cast<int>(threadIdx.x % 32);
  tile.first_group = index * p.groups_per_tile;
  tile.groups = static_cast<int>(
      min(p.groups - tile.first_group, static_cast<std::int64_t>(p.groups_per_tile)));
  if constexpr (flat) {
    const int chunks = tile.groups * p.chunks_per_group;
    const std::uint16_t* from =
        p.rows.data + tile.first_group * (p.chunks_per_group * kChunk) + lane * kChunk;
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      tile.registers[i] = empty_chunk();
      if (lane + 32 * i < chunks) tile.registers[i] = read_chunk(from + 32 * i * kChunk);
    }
  } else {
    tile.first = place_of(tile.first_group, p.layout.groups_per_row);
#pragma unroll 1
    for (int i = 0; i < kLaneChunks; ++i) {
      const ChunkPlace place = chunk_place(p, tile.first, tile.groups, lane + 32 * i);
      scratch.chunks[lane + 32 * i] = place.count == 0
                                          ? empty_chunk()
                                          : gather_chunk(p.rows, place.row, place.col, place.count);
    }
  }
  return tile;
}

// Limits the extents of the groups to the percentile of their finite magnitudes: the largest number
// that fewer than its rank are below, bit by bit.
template <ElementFormat source>
__device__ inline void clip_to_percentile(const QuantizeParams& p, const LaneTile<false>& tile,
                                          TileScratch<false>& scratch) {
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
      const Chunk chunk = tile.chunk(i, scratch);
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

// The extents of the chunks, to scratch.extents. Returns whether all elements of the tile are
// finite.
template <ElementFormat source, bool flat>
__device__ inline bool find_chunk_extents(const QuantizeParams& p, const LaneTile<flat>& tile,
                                          TileScratch<flat>& scratch) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  bool finite = true;
#pragma unroll kUnrolled < flat>
  for (int i = 0; i < kLaneChunks; ++i) {
    scratch.extents[lane + 32 * i] =
        chunk_extent<source>(tile.chunk(i, scratch), p.rule.zero_point, finite);
  }
  return __all_sync(0xFFFFFFFF, finite) != 0;
}

// The extents of a tile's groups, from those of the chunks.
template <ElementFormat source, bool flat>
__device__ inline void join_extents(const QuantizeParams& p, const LaneTile<flat>& tile,
                                    TileScratch<flat>& scratch) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  if constexpr (!flat) {
    if (p.percentile != kWhole) clip_to_percentile<source>(p, tile, scratch);
  }
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
    if constexpr (!flat) {
      if (p.percentile != kWhole && g < tile.groups) {
        extent = __vminu2(extent, scratch.bounds[g] * 0x10001);
      }
    }
    // No group that is found later has its chunks before this one's end.
    __syncwarp();
    if (g < tile.groups && lane % p.team == 0) scratch.extents[g] = extent;
    __syncwarp();
  }
}

// The scale of group g of the tile, from its extent: for the lanes, and for whoever reads codes.
template <ElementFormat source, bool flat>
__device__ inline void make_scale(const QuantizeParams& p, const ScaleRule& rule,
                                  const LaneTile<flat>& tile, int g, TileScratch<flat>& scratch) {
  const GroupScale scale = rule.of(unpacked(scratch.extents[g]));
  scratch.divisors[g] = divisor_of<source>(scale.scale, scale.zero_point);
  std::int64_t index = tile.first_group + g;
  if (!flat || p.layout.column_major) {
    const Place first = flat ? place_of(tile.first_group, p.layout.groups_per_row) : tile.first;
    const Place place = after(first, g, p.layout.groups_per_row);
    index = p.layout.scale_index(place.row, place.part);
  }
  store_scale(scale, p.scales, index);
}

__device__ inline std::int64_t tile_of_warp() {
  return static_cast<std::int64_t>(blockIdx.x) * kTileWarps + threadIdx.x / 32;
}

// Writes the codes of a tile.
template <ElementFormat source, ElementFormat target, bool flat, bool software, Care care>
__device__ inline void encode_tile(const QuantizeParams& p, const LaneTile<flat>& tile,
                                   const TileScratch<flat>& scratch) {
  constexpr int kPerByte = target >= ElementFormat::kInt4 ? 2 : 1;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint8_t* const flat_out =
      p.values + tile.first_group * p.chunks_per_group * (kChunk / kPerByte);
#pragma unroll kUnrolled < flat>
  for (int i = 0; i < kLaneChunks; ++i) {
    const int chunk = lane + 32 * i;
    const int g = group_in_tile(p, chunk);
    if (g >= tile.groups) continue;
    const Divisor divisor = scratch.divisors[g];
    ChunkPlace place{0, 0, kChunk};
    std::uint8_t* out = flat_out + chunk * (kChunk / kPerByte);
    if constexpr (!flat) {
      place = chunk_place(p, tile.first, tile.groups, chunk);
      if (place.count == 0) continue;
      out = p.values + place.row * p.layout.row_bytes + place.col / kPerByte;
      if (p.stochastic) {
        const float scale = __fmul_rn(divisor.scale, 1 / divisor.lift);
        const auto index = static_cast<std::uint64_t>(place.row * p.layout.cols + place.col);
        store_codes<target, flat>(
            encode_chunk_stochastic<source, target>(tile.chunk(i, scratch), scale,
                                                    divisor.zero_point, p.range, p.seed, index),
            out, place.count);
        continue;
      }
    }
    float y[kChunk];
    chunk_quotients<source, care>(tile.chunk(i, scratch), divisor, y);
    store_codes<target, flat>(encode_chunk<target, software, care>(y, divisor.zero_point, p.range),
                              out, place.count);
  }
}

template <ElementFormat source, ElementFormat target, bool flat, bool software>
__global__ void __launch_bounds__(kTileWarps * 32)
    quantize_groups(const __grid_constant__ QuantizeParams p) {
  __shared__ TileScratch<flat> scratches[kTileWarps];
  begin_kernel();
  const int lane = static_cast<int>(threadIdx.x % 32);
  TileScratch<flat>& scratch = scratches[threadIdx.x / 32];
  if (tile_of_warp() * p.groups_per_tile >= p.groups) return;
  const LaneTile<flat> tile = read_tile<flat>(p, tile_of_warp(), scratch);
  const bool finite = find_chunk_extents<source, flat>(p, tile, scratch);
  join_extents<source, flat>(p, tile, scratch);
  ScaleRule rule = p.rule;
  if (p.scales.format == ScaleFormat::kE4m3) {
    rule.set_global({static_cast<std::uint16_t>(p.workspace->whole), 0});
    if (tile.first_group == 0 && lane == 0) *p.scales.global = rule.global;
  }
  for (int g = lane; g < tile.groups; g += 32) make_scale<source, flat>(p, rule, tile, g, scratch);
  __syncwarp();
  // A general tile has one way, so that it is compiled once.
  if (!flat || !finite || p.clips) {
    encode_tile<source, target, flat, software, Care::kAll>(p, tile, scratch);
  } else if (p.saturates) {
    encode_tile<source, target, flat, software, Care::kSaturate>(p, tile, scratch);
  } else {
    encode_tile<source, target, flat, software, Care::kNone>(p, tile, scratch);
  }
}

// The largest extent of all groups, to Workspace::whole, which is 0 before.
template <ElementFormat source, bool flat>
__global__ void __launch_bounds__(kTileWarps * 32)
    find_largest_extent(const __grid_constant__ QuantizeParams p) {
  __shared__ TileScratch<flat> scratches[kTileWarps];
  begin_kernel();
  TileScratch<flat>& scratch = scratches[threadIdx.x / 32];
  if (tile_of_warp() * p.groups_per_tile >= p.groups) return;
  const LaneTile<flat> tile = read_tile<flat>(p, tile_of_warp(), scratch);
  find_chunk_extents<source, flat>(p, tile, scratch);
  // Without a percentile the extents of chunks are enough.
  int count = kTileChunks;
  if constexpr (!flat) {
    join_extents<source, flat>(p, tile, scratch);
    count = tile.groups;
  }
  __syncwarp();
  std::uint32_t largest = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
    const Extent extent = unpacked(scratch.extents[i]);
    largest = max(largest, static_cast<std::uint32_t>(max(extent.positive, extent.negative)));
  }
  largest = __reduce_max_sync(0xFFFFFFFF, largest);
  // Most warps see a larger one, and need no atomic operation.
  if (threadIdx.x % 32 == 0 &&
      largest > *static_cast<volatile std::uint32_t*>(&p.workspace->whole)) {
    atomicMax(&p.workspace->whole, largest);
  }
}

}  // namespace qsim::golden::cuda
