// The kernel of a flat tensor in groups: a warp reads a tile of whole groups once, finds their
// scales together and writes codes and scales.
#pragma once

#include "golden/kernels/convert/cuda/flat_tile.cuh"

namespace qsim::golden::cuda {

// What the lanes of a warp tell each other about the groups of a tile.
struct FlatScratch {
  std::uint16_t extents[2][kTileChunks];  // of chunks; the second ones are of negative elements
  SplitDivisor divisors[kTileChunks / 2];
};

// Blocks of a multiprocessor: what its registers allow without spills. `plain`: FP32 or UE8M0
// scales by the largest magnitude alone.
template <bool plain>
constexpr int kFlatBlocks = plain ? 7 : 5;

struct FlatGroups {
  std::int64_t first;
  int groups;
  int chunks;
};

__device__ inline FlatGroups flat_groups(const QuantizeParams& p, std::int64_t tile) {
  const std::int64_t first = tile * p.groups_per_tile;
  const int groups =
      static_cast<int>(min(p.groups - first, static_cast<std::int64_t>(p.groups_per_tile)));
  return {first, groups, groups * p.chunks_per_group};
}

__device__ inline std::int64_t flat_scale_index(const QuantizeParams& p, std::int64_t group) {
  if (!p.layout.column_major) return group;
  const Place place = place_of(group, p.layout.groups_per_row);
  return p.layout.scale_index(place.row, place.part);
}

// The rule of a tensor whose global scale, if it has one, is found.
__device__ inline ScaleRule rule_of(const QuantizeParams& p) {
  ScaleRule rule = p.rule;
  if (p.scales.format == ScaleFormat::kE4m3) {
    rule.set_global({static_cast<std::uint16_t>(p.workspace->whole), 0});
  }
  return rule;
}

// A tile that has an element that is not finite, or too large a scale, by the definition: group by
// group, from memory. Few need it, and no other takes registers for it.
template <ElementFormat source, ElementFormat target>
__device__ __noinline__ void quantize_tile_slowly(const QuantizeParams& p, std::int64_t tile) {
  const FlatGroups groups = flat_groups(p, tile);
  const ScaleRule rule = rule_of(p);
#pragma unroll 1
  for (int g = 0; g < groups.groups; ++g) {
    const std::int64_t first = (groups.first + g) * p.chunks_per_group;
    std::uint32_t extent = 0;
#pragma unroll 1
    for (int c = lane_of_warp(); c < p.chunks_per_group; c += 32) {
      const Chunk x = read_chunk(p.rows.data + (first + c) * kChunk);
      extent = larger_extent(extent, slow_extent<source>(x));
    }
    const Extent whole = {
        static_cast<std::uint16_t>(__reduce_max_sync(0xFFFFFFFF, extent & 0xFFFF)),
        static_cast<std::uint16_t>(__reduce_max_sync(0xFFFFFFFF, extent >> 16))};
    const GroupScale scale = rule.of(whole);
    if (lane_of_warp() == 0) {
      store_scale(scale, p.scales, flat_scale_index(p, groups.first + g));
    }
#pragma unroll 1
    for (int c = lane_of_warp(); c < p.chunks_per_group; c += 32) {
      const Chunk x = read_chunk(p.rows.data + (first + c) * kChunk);
      store_codes<target, true>(encode_by_definition<source, target>(x, scale, p.range),
                                p.values + (first + c) * kCodeBytes<target>, kChunk);
    }
  }
}

// The extents of all chunks, to scratch: with `affine` of both signs. Returns whether all elements
// are finite; otherwise the extents are none.
template <ElementFormat source>
__device__ inline bool find_flat_extents(const FlatTile& tile, bool affine, FlatScratch& scratch) {
  std::uint32_t words[kLaneChunks / 2];
  std::uint32_t all;
  flat_extents<source>(tile, words, all);
  if (__all_sync(0xFFFFFFFF, is_finite_pair<source>(all)) == 0) return false;
#pragma unroll
  for (int i = 0; i < kLaneChunks; ++i) {
    const int at = lane_of_warp() + 32 * i;
    if (affine) {
      const Extent extent = unpacked(finite_signed_extent(tile.chunks[i]));
      scratch.extents[0][at] = extent.positive;
      scratch.extents[1][at] = extent.negative;
    } else {
      scratch.extents[0][at] = static_cast<std::uint16_t>(words[i / 2] >> (16 * (i % 2)));
    }
  }
  return true;
}

// The largest extent of group g, by the lanes of a team of 2^shift.
__device__ inline std::uint32_t join_chunks(const QuantizeParams& p, const std::uint16_t* extents,
                                            int g, int groups, int shift) {
  const int words = p.chunks_per_group / 2;
  const auto* of_group = reinterpret_cast<const std::uint32_t*>(extents) + g * words;
  std::uint32_t largest = 0;
  if (g < groups) {
    for (int w = lane_of_warp() & ((1 << shift) - 1); w < words; w += 1 << shift) {
      largest = __vmaxu2(largest, of_group[w]);
    }
  }
  for (int step = 1 << shift >> 1; step > 0; step >>= 1) {
    largest = __vmaxu2(largest, __shfl_xor_sync(0xFFFFFFFF, largest, step));
  }
  return max(largest & 0xFFFF, largest >> 16);
}

// ScaleRule::of() of a plain rule. amax has at most 11 significant bits, so its quotient by a
// constant is one by a reciprocal (a subnormal one too: it is never near the middle of two).
template <ElementFormat source, ElementFormat target>
__device__ inline GroupScale plain_scale(const ScaleRule& rule, std::uint32_t extent) {
  constexpr float kLargest = largest_number(target);
  constexpr float kReciprocal = 1 / kLargest;
  const float amax = half_number(source, static_cast<std::uint16_t>(extent));
  const float quotient = quotient_by_reciprocal(amax, kLargest, kReciprocal);
  if (rule.scales == ScaleFormat::kFp32) {
    return {amax == 0 ? 1 : at_least(quotient, kLeastScale), 0, 0};
  }
  std::uint32_t code = 127;
  if (amax != 0) {
    code = rule.rounding == PowerRounding::kFloor
               ? ue8m0_scale(amax, target, PowerRounding::kFloor)
               : ue8m0_encode(bits_of(at_least(quotient, kLeastPower)), rule.rounding);
  }
  return {float_of(ue8m0_decode(code)), 0, static_cast<std::uint8_t>(code)};
}

// The scales of a tile, to memory and to scratch. Returns whether all have a split divisor.
template <ElementFormat source, ElementFormat target, bool plain>
__device__ inline bool make_flat_scales(const QuantizeParams& p, const FlatGroups& tile,
                                        FlatScratch& scratch) {
  ScaleRule rule = p.rule;
  if constexpr (!plain) rule = rule_of(p);
  const int shift = 31 - __clz(p.team);
  bool split = true;
  for (int start = 0; start < tile.groups; start += 32 >> shift) {
    const int g = start + (lane_of_warp() >> shift);
    GroupScale scale;
    const std::uint32_t extent = join_chunks(p, scratch.extents[0], g, tile.groups, shift);
    if constexpr (plain) {
      scale = plain_scale<source, target>(rule, extent);
    } else {
      std::uint32_t negative = 0;
      if (rule.zero_point) negative = join_chunks(p, scratch.extents[1], g, tile.groups, shift);
      scale = rule.of({static_cast<std::uint16_t>(extent), static_cast<std::uint16_t>(negative)});
    }
    if (g >= tile.groups || (lane_of_warp() & ((1 << shift) - 1)) != 0) continue;
    split = split && has_split_divisor<source>(scale);
    scratch.divisors[g] = split_divisor(scale, largest_number(target));
    store_scale(scale, p.scales, flat_scale_index(p, tile.first + g));
  }
  return __all_sync(0xFFFFFFFF, split) != 0;
}

// Writes the codes of a tile.
template <ElementFormat source, ElementFormat target, bool software, Care care>
__device__ inline void write_flat(const QuantizeParams& p, const FlatTile& tile,
                                  const FlatGroups& groups, const FlatScratch& scratch) {
  // The compiler would keep each comparison of read_flat() in a register.
  int chunks = groups.chunks;
  asm volatile("" : "+r"(chunks));
  std::uint8_t* out =
      p.values + (groups.first * p.chunks_per_group + lane_of_warp()) * kCodeBytes<target>;
#pragma unroll
  for (int i = 0; i < kLaneChunks; ++i) {
    const int chunk = lane_of_warp() + 32 * i;
    const auto group = static_cast<std::uint32_t>(chunk) * p.group_magic >> 16;
    // A lane without a chunk makes codes too, so that nothing branches.
    const SplitDivisor divisor =
        scratch.divisors[min(group, static_cast<std::uint32_t>(groups.groups - 1))];
    const Codes codes =
        encode_finite<source, target, software, care>(tile.chunks[i], divisor, p.range);
    if (chunk < chunks) {
      store_codes<target, true>(codes, out + 32 * i * kCodeBytes<target>, kChunk);
    }
  }
}

template <ElementFormat source, ElementFormat target, bool software, bool plain>
__global__ void __launch_bounds__(kTileWarps * 32, kFlatBlocks<plain>)
    quantize_flat(const __grid_constant__ QuantizeParams p) {
  __shared__ FlatScratch scratches[kTileWarps];
  begin_kernel();
  FlatScratch& scratch = scratches[threadIdx.x / 32];
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kTileWarps + threadIdx.x / 32;
  if (index * p.groups_per_tile >= p.groups) return;
  const FlatGroups groups = flat_groups(p, index);
  const FlatTile tile = read_flat(p.rows.data + groups.first * (p.chunks_per_group * kChunk),
                                  lane_of_warp(), 32, groups.chunks);
  if (!plain && p.scales.format == ScaleFormat::kE4m3 && index == 0 && lane_of_warp() == 0) {
    *p.scales.global = rule_of(p).global;
  }
  bool quick = find_flat_extents<source>(tile, !plain && p.rule.zero_point, scratch);
  __syncwarp();
  quick = quick && make_flat_scales<source, target, plain>(p, groups, scratch);
  __syncwarp();
  if (!quick) {
    quantize_tile_slowly<source, target>(p, index);
  } else if (!plain && p.clips) {
    write_flat<source, target, software, Care::kAll>(p, tile, groups, scratch);
  } else if (!plain || p.saturates) {
    write_flat<source, target, software, Care::kSaturate>(p, tile, groups, scratch);
  } else {
    write_flat<source, target, software, Care::kNone>(p, tile, groups, scratch);
  }
}

}  // namespace qsim::golden::cuda
