// The kernels of groups that no warp has whole, a row or the tensor each: their extents, the
// percentile, the scales, and then the codes.
#pragma once

#include "golden/kernels/convert/cuda/encode.cuh"
#include "golden/kernels/convert/cuda/scale_access.cuh"

namespace qsim::golden::cuda {

inline constexpr int kLongThreads = 128;
inline constexpr int kLongChunks = kLongTile / 32;  // of a lane

__device__ inline std::int64_t long_group(const QuantizeParams& p, std::int64_t row) {
  return p.layout.per_tensor ? 0 : row;
}

__device__ inline int elements_of(const QuantizeParams& p, std::int64_t chunk_of_row) {
  return static_cast<int>(min(p.layout.cols - chunk_of_row * kChunk, std::int64_t{kChunk}));
}

// Calls visit(row, chunk of the row, chunk) for the chunks lane, lane + 32, ... of each warp's
// tile.
template <typename Visit>
__device__ inline void each_long_chunk(const QuantizeParams& p, Visit visit) {
  const std::int64_t all = p.layout.rows * p.chunks_per_row;
  const std::int64_t tile = grid_thread() / 32;
  const std::int64_t begin = tile * (32 * kLongChunks);
  if (begin >= all) return;
  const Place first = place_of(begin, p.chunks_per_row);
  const int lane = static_cast<int>(threadIdx.x % 32);
  Chunk chunks[kLongChunks];
#pragma unroll
  for (int i = 0; i < kLongChunks; ++i) {
    chunks[i] = empty_chunk();
    const int at = lane + 32 * i;
    if (begin + at >= all) continue;
    const Place place = after(first, at, p.chunks_per_row);
    chunks[i] = gather_chunk(p.rows, place.row, place.part * kChunk, elements_of(p, place.part));
  }
#pragma unroll
  for (int i = 0; i < kLongChunks; ++i) {
    const int at = lane + 32 * i;
    const bool is_chunk = begin + at < all;
    const Place place = is_chunk ? after(first, at, p.chunks_per_row) : Place{-1, 0};
    visit(place, chunks[i]);
  }
}

// The extents of all groups, which are 0 before.
template <ElementFormat source>
__global__ void __launch_bounds__(kLongThreads)
    find_long_extents(const __grid_constant__ QuantizeParams p) {
  begin_kernel();
  each_long_chunk(p, [&](Place place, const Chunk& chunk) {
    bool finite = true;
    const std::uint32_t extent = chunk_extent<source>(chunk, p.rule.zero_point, finite);
    const std::int64_t group = place.row < 0 ? -1 : long_group(p, place.row);
    const std::int64_t leader = __shfl_sync(0xFFFFFFFF, group, 0);
    std::uint32_t positive = extent & 0xFFFF;
    std::uint32_t negative = extent >> 16;
    if (__all_sync(0xFFFFFFFF, group == leader || group < 0)) {
      positive = __reduce_max_sync(0xFFFFFFFF, positive);
      negative = __reduce_max_sync(0xFFFFFFFF, negative);
      if (threadIdx.x % 32 != 0) return;
    }
    if (group < 0) return;
    std::uint32_t* extents = p.workspace->extents() + 2 * group;
    raise(extents, positive);
    raise(extents + 1, negative);
  });
}

// The percentile of each row, a block each: the bin of its upper 8 bits, then its lower 7.
__device__ inline void pick_bin(const std::uint64_t* counts, std::uint64_t& rank,
                                std::uint32_t& bin) {
  bin = 0;
  while (rank > counts[bin]) rank -= counts[bin++];
}

__device__ inline std::uint64_t total_of(const std::uint64_t* counts) {
  std::uint64_t total = 0;
  for (int i = 0; i < 256; ++i) total += counts[i];
  return total;
}

// Counts the finite elements of a chunk: of level 0 by the upper bits of the magnitude, of level 1
// those in `bin` by the lower ones.
template <ElementFormat source, typename Counter>
__device__ inline void count_chunk(const Chunk& chunk, int elements, int level, std::uint32_t bin,
                                   Counter* counts) {
  const std::uint64_t low = std::uint64_t{chunk.pairs[1]} << 32 | chunk.pairs[0];
  const std::uint64_t high = std::uint64_t{chunk.pairs[3]} << 32 | chunk.pairs[2];
#pragma unroll 1
  for (int i = 0; i < elements; ++i) {
    const auto magnitude =
        static_cast<std::uint32_t>((i < 4 ? low : high) >> (16 * (i % 4))) & 0x7FFFU;
    if (magnitude >= infinity_code(source)) continue;
    if (level == 0) {
      atomicAdd(counts + (magnitude >> 7), Counter{1});
    } else if (magnitude >> 7 == bin) {
      atomicAdd(counts + (magnitude & 127), Counter{1});
    }
  }
}

__device__ inline void clip_extents(std::uint32_t* extents, std::uint32_t bound) {
  extents[0] = min(extents[0], bound);
  extents[1] = min(extents[1], bound);
}

template <ElementFormat source>
__global__ void __launch_bounds__(kLongThreads)
    clip_rows_to_percentile(const __grid_constant__ QuantizeParams p) {
  __shared__ std::uint64_t counts[256];
  __shared__ std::uint64_t rank;
  __shared__ std::uint32_t bin;
  begin_kernel();
  for (std::int64_t row = blockIdx.x; row < p.layout.rows; row += gridDim.x) {
    for (int level = 0; level < 2; ++level) {
      for (int i = static_cast<int>(threadIdx.x); i < 256; i += kLongThreads) counts[i] = 0;
      __syncthreads();
      for (std::int64_t c = threadIdx.x; c < p.chunks_per_row; c += kLongThreads) {
        const Chunk chunk = gather_chunk(p.rows, row, c * kChunk, elements_of(p, c));
        count_chunk<source>(chunk, elements_of(p, c), level, bin,
                            reinterpret_cast<unsigned long long*>(counts));
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        std::uint32_t low = 0;
        if (level == 0) {
          const auto total = static_cast<std::int64_t>(total_of(counts));
          rank = total == 0 ? 0 : static_cast<std::uint64_t>(percentile_rank(total, p.percentile));
          pick_bin(counts, rank, bin);
        } else {
          pick_bin(counts, rank, low);
          clip_extents(p.workspace->extents() + 2 * row, bin << 7 | low);
        }
      }
      __syncthreads();
    }
  }
}

// The same for a whole tensor, by all blocks: one launch a level, each followed by choose_bin.
template <ElementFormat source>
__global__ void __launch_bounds__(kLongThreads)
    count_tensor(const __grid_constant__ QuantizeParams p, int level) {
  __shared__ std::uint32_t counts[256];  // of at most 4096 elements
  begin_kernel();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kLongThreads) counts[i] = 0;
  __syncthreads();
  const std::uint32_t bin = p.workspace->bin;
  const std::int64_t all = p.layout.rows * p.chunks_per_row;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * (kLongThreads * kLongChunks);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kLongThreads * kLongChunks; i += kLongThreads) {
    if (begin + i >= all) break;
    const Place place = place_of(begin + i, p.chunks_per_row);
    const int elements = elements_of(p, place.part);
    const Chunk chunk = gather_chunk(p.rows, place.row, place.part * kChunk, elements);
    count_chunk<source>(chunk, elements, level, bin, counts);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kLongThreads) {
    if (counts[i] == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(p.workspace->counts[level]) + i, counts[i]);
  }
}

template <ElementFormat source, ElementFormat target, bool software>
__global__ void __launch_bounds__(kLongThreads)
    encode_long_groups(const __grid_constant__ QuantizeParams p) {
  begin_kernel();
  constexpr int kPerByte = target >= ElementFormat::kInt4 ? 2 : 1;
  each_long_chunk(p, [&](Place place, const Chunk& chunk) {
    if (place.row < 0) return;
    const GroupScale scale = scale_at(p.scales, long_group(p, place.row));
    const std::int64_t col = place.part * kChunk;
    const int count = elements_of(p, place.part);
    std::uint8_t* out = p.values + place.row * p.layout.row_bytes + col / kPerByte;
    if (p.stochastic) {
      const auto index = static_cast<std::uint64_t>(place.row * p.layout.cols + col);
      store_codes<target, false>(encode_chunk_stochastic<source, target>(
                                     chunk, scale.scale, scale.zero_point, p.range, p.seed, index),
                                 out, count);
    } else {
      float y[kChunk];
      chunk_quotients<source>(chunk, divisor_of<source>(scale.scale, scale.zero_point), y);
      store_codes<target, false>(
          encode_chunk<target, software, Care::kAll>(y, scale.zero_point, p.range), out, count);
    }
  });
}

}  // namespace qsim::golden::cuda
