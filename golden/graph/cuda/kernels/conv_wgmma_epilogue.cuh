// From accumulators to bytes of the ofmap. A thread's columns are 16 consecutive channels per 64
// (the weights' rows are permuted so: column_channel in conv_wgmma.cu), so that four lanes write 64
// consecutive bytes.
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_finish.cuh"

namespace qsim::golden::cuda {

// Where a unit's outputs begin.
struct UnitPlace {
  int picture;  // -1 for a unit beyond the last
  int y;
  int x;

  __device__ UnitPlace(const ConvGeometry& g, int unit) {
    picture = g.picture_units.divide(unit);
    const int in_picture = unit - picture * g.picture_units.divisor();
    y = g.units_x.divide(in_picture);
    x = (in_picture - y * g.units_x.divisor()) * g.step_x;
    if (unit >= g.units) picture = -1;
    y *= g.step_y;
  }

  // Row `row` of the unit in the ofmap (after pooling, when `pool`), in pixels from its start; -1
  // for a row that is not an output.
  __device__ int pixel(const ConvGeometry& g, int row, bool pool) const {
    const int row_y = g.row_pitch.divide(row);
    const int row_x = row - row_y * g.row_pitch.divisor();
    const int out_y = y + row_y;
    const int out_x = x + row_x;
    if (picture < 0 || row_y >= g.step_y || row_x >= g.step_x || out_y >= g.height ||
        out_x >= g.width) {
      return -1;
    }
    if (pool) return (picture * (g.height / 2) + out_y / 2) * (g.width / 2) + out_x / 2;
    return (picture * g.height + out_y) * g.width + out_x;
  }
};

// kCount channels, from the first-th on, of run `run` (0 .. kN / 64 - 1) in row half `half` of an
// accumulator.
template <int kCount, int kSums>
__device__ inline void read_run(const std::int32_t (&acc)[kSums], int run, int half, int first,
                                std::int32_t (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = acc[(8 * run + (first + i) / 2) * 4 + 2 * half + i % 2];
  }
}

// 2 x 2 pixels of a square to one: rows g and g + 8 are vertical neighbours in a thread, lanes 4
// apart horizontal ones. The largest psum gives the largest output, since requantization is
// monotone. Each lane of a pair takes half of a run, the odd one the second half.
template <int kCount>
__device__ inline void read_pooled_run(const std::int32_t (&acc)[kCount], int run, bool odd,
                                       std::int32_t (&values)[kRun / 2]) {
  constexpr int kHalfRun = kRun / 2;
  std::int32_t upper[kRun];
  std::int32_t lower[kRun];
  read_run(acc, run, 0, 0, upper);
  read_run(acc, run, 1, 0, lower);
#pragma unroll
  for (int i = 0; i < kHalfRun; ++i) {
    const std::int32_t first = max(upper[i], lower[i]);
    const std::int32_t second = max(upper[i + kHalfRun], lower[i + kHalfRun]);
    const std::int32_t theirs = __shfl_xor_sync(0xFFFFFFFFu, odd ? first : second, 4);
    values[i] = max(odd ? second : first, theirs);
  }
}

// Finishes a tile of a consumer warpgroup. Where a thread has the registers, what does not depend
// on the sums is loaded before they are computed.
template <class Tile, Finish kFinish>
class TileStore {
 public:
  static constexpr int kGroups = Tile::kGroups;
  static constexpr int kRuns = Tile::kN / 64;
  static constexpr bool kPool = pools(kFinish);
  static constexpr bool kPlain = kFinish == Finish::kPlain || kFinish == Finish::kPlainPool;
  static constexpr bool kAny = kFinish == Finish::kAny || kFinish == Finish::kAnyPool;
  static constexpr bool kAdd = adds(kFinish);
  // Whether the other operand is read before anything waits for it: where registers are left.
  static constexpr bool kAheadOther = kAdd && Tile::kGroups == 1;
  static constexpr int kHalves = kPool ? 1 : 2;  // outputs of a thread per 16 rows
  // Channels that a thread finishes at a time, and how many times it does for a run.
  static constexpr int kCount = kPool || kAny ? kRun / 2 : kRun;
  static constexpr int kParts = kPool ? 1 : kRun / kCount;
  static constexpr bool kEarly = kPlain && Tile::kWarpgroups == 2;
  using Params = RunParams<kCount>;

  __device__ TileStore(const ConvWgmmaArgs& args, int row_tile, int column_block, int group)
      : args_(args) {
    const ConvGeometry& g = args.geometry;
    const int lane = static_cast<int>(threadIdx.x % 32);
    odd_ = kPool && lane / 4 % 2 != 0;
    channel_ = column_block * Tile::kN + kRun * (lane % 4) + (odd_ ? kCount : 0);
    const int lane_row = 16 * (static_cast<int>(threadIdx.x / 32) % 4) + lane / 4;
    const int first_unit = row_tile * (Tile::kTileGroups >> g.unit_shift);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int index = group * kGroups + i;
      const int unit = index >> g.unit_shift;
      const int row = (index - (unit << g.unit_shift)) * kGroupRows + lane_row;
      const UnitPlace place(g, first_unit + unit);
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        pixels_[i][half] = place.pixel(g, row + 8 * half, kPool);
      }
    }
    if constexpr (kEarly) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) params_[run] = Params(args.output, channel_ + 64 * run);
    }
  }

  // Brings the other operand to the L2 cache, of kAdd.
  __device__ void fetch_other() const {
    const int channels = args_.geometry.channels;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
#pragma unroll
        for (int run = 0; run < kRuns; ++run) {
          const int channel = channel_ + 64 * run;
          if (pixels_[i][half] < 0 || channel >= channels) continue;
          const std::uint8_t* from =
              args_.other.data + std::int64_t{pixels_[i][half]} * channels + channel;
          asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
        }
      }
    }
  }

  __device__ void store(const std::int32_t (&acc)[kGroups][Tile::kN / 2]) const {
#pragma unroll
    for (int part = 0; part < kRuns * kParts; ++part) {
      const int run = part / kParts;
      const int first = part % kParts * kCount;
      const int channel = channel_ + 64 * run + first;
      std::uint32_t other[kHalves][kCount / 4];
      if constexpr (kAheadOther) load_others(0, channel, other);
      Params params;
      if constexpr (kEarly) {
        params = params_[run];
      } else {
        params = Params(args_.output, channel);
      }
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        if constexpr (kAdd && !kAheadOther) load_others(i, channel, other);
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          std::int32_t values[kCount];
          if constexpr (kPool) {
            read_pooled_run(acc[i], run, odd_, values);
          } else {
            read_run(acc[i], run, half, first, values);
          }
          finish(values, params, other[half], channel);
          if (pixels_[i][half] >= 0) {
            store_run<kPlain, kAdd>(values, args_, pixels_[i][half], channel);
          }
        }
      }
    }
  }

 private:
  __device__ void load_others(int group, int channel,
                              std::uint32_t (&other)[kHalves][kCount / 4]) const {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      load_other<kCount>(args_, pixels_[group][half], channel, other[half]);
    }
  }

  // `other`: the other operand's bytes, of kAdd.
  __device__ void finish(std::int32_t (&values)[kCount], const Params& params,
                         const std::uint32_t (&other)[kCount / 4], int channel) const {
    if constexpr (kPlain) {
      finish_plain(values, params, args_);
    } else if constexpr (kAny) {
      finish_shifts(values, params, args_, channel);
    } else if constexpr (kAdd) {
      finish_sums_of<kFinish == Finish::kScaleAddFirst>(values, params, args_, channel, other);
    } else {
      finish_scales(values, params, args_, channel);
    }
  }

  const ConvWgmmaArgs& args_;
  bool odd_;
  int channel_;
  int pixels_[kGroups][kHalves];
  Params params_[kEarly ? kRuns : 1];
};

}  // namespace qsim::golden::cuda
