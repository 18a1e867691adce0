// From accumulators to bytes of the ofmap. A thread's columns are 16 consecutive channels per 64
// (the weights' rows are permuted so: column_channel in conv_wgmma.cu), so that four lanes write 64
// consecutive bytes.
#pragma once

#include "golden/cuda/kernels/conv_wgmma_args.h"
#include "golden/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {

inline constexpr int kRun = 16;  // consecutive channels of a thread

// What the requantization of a run needs, loaded once for several rows.
template <int kCount>
struct RunParams {
  std::int32_t fold[kCount];

  RunParams() = default;
  __device__ RunParams(const OutputParams& params, int channel) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const int4 four = __ldg(reinterpret_cast<const int4*>(params.fold + channel + i));
      fold[i] = four.x;
      fold[i + 1] = four.y;
      fold[i + 2] = four.z;
      fold[i + 3] = four.w;
    }
  }
};

// Requantizes psums of kCount consecutive channels from `channel` on, in place. kPlain as in
// ConvWgmmaArgs: the clamp is then the pack's saturation.
template <bool kPlain, int kCount>
__device__ inline void finish_run(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                  const ConvWgmmaArgs& args, int channel) {
  if constexpr (kPlain) {
    __builtin_assume(args.shift > 0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = rounding_shift(values[i] + run.fold[i], args.shift, RoundingMode::kHalfEven);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = requantize_narrow(values[i] + run.fold[i], __ldg(args.output.shift + channel + i),
                                    RoundingMode::kHalfEven, args.output.zero_point, args.output.lo,
                                    args.output.hi);
    }
  }
}

__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[4]) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}
__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[2]) {
  *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
}
__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[1]) {
  *reinterpret_cast<std::uint32_t*>(to) = words[0];
}

// Writes kCount finished values to channels from `channel` on; those beyond the ofmap's are
// dropped. kWhole: the ofmap's channels are a multiple of kCount.
template <bool kWhole, int kCount>
__device__ inline void store_run(const std::int32_t (&values)[kCount], const ConvWgmmaArgs& args,
                                 int pixel, int channel) {
  const int channels = args.geometry.channels;
  std::uint8_t* to = args.output_data + std::int64_t{pixel} * channels + channel;
  std::uint32_t words[kCount / 4];
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    words[i] = pack4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3],
                     args.is_unsigned);
  }
  if (channel >= channels) return;
  if (kWhole || channels % kCount == 0) return store_words(to, words);
  if constexpr (!kWhole) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (channel + i < channels) to[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
    }
  }
}

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
  // for a row that is no output.
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
// monotone. Of a pair of lanes each takes half of a run, the odd one the second half.
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
template <class Tile, bool kPlain, bool kPool>
class TileStore {
 public:
  static constexpr int kGroups = Tile::kGroups;
  static constexpr int kRuns = Tile::kN / 64;
  static constexpr int kHalves = kPool ? 1 : 2;  // outputs of a thread per 16 rows
  // Channels that a thread finishes at a time, and how many times it does for a run.
  static constexpr int kCount = kPool || !kPlain ? kRun / 2 : kRun;
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

  __device__ void store(const std::int32_t (&acc)[kGroups][Tile::kN / 2]) const {
#pragma unroll
    for (int part = 0; part < kRuns * kParts; ++part) {
      const int run = part / kParts;
      const int first = part % kParts * kCount;
      const int channel = channel_ + 64 * run + first;
      Params params;
      if constexpr (kEarly) {
        params = params_[run];
      } else {
        params = Params(args_.output, channel);
      }
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
#pragma unroll
        for (int half = 0; half < kHalves; ++half) {
          std::int32_t values[kCount];
          if constexpr (kPool) {
            read_pooled_run(acc[i], run, odd_, values);
          } else {
            read_run(acc[i], run, half, first, values);
          }
          finish_run<kPlain>(values, params, args_, channel);
          if (pixels_[i][half] >= 0) store_run<kPlain>(values, args_, pixels_[i][half], channel);
        }
      }
    }
  }

 private:
  const ConvWgmmaArgs& args_;
  bool odd_;
  int channel_;
  int pixels_[kGroups][kHalves];
  Params params_[kEarly ? kRuns : 1];
};

}  // namespace qsim::golden::cuda
