// What a thread of direct_weight_gradient.cu adds up.
#pragma once

#include "golden/device/fast_divisor.h"
#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/direct_conv.cuh"

namespace qsim::golden::train::cuda {

struct DirectWeightArgs {
  ConvGeometry conv;
  const std::int8_t* q;
  const std::int32_t* zero_point;
  const std::uint16_t* g;
  float* sums;                                  // [parts][out_channels][depth]
  int chunks;                                   // in all
  int block_chunks;                             // of a block: 1, 2 or 4
  int slabs, tasks;                             // blocks that have all chunks; all sums of a chunk
  int items, rounds;                            // pixels taken together; those of a thread
  golden::cuda::FastDivisor row_items, height;  // of y
};

// Pixels of y that a thread has at once; they follow each other in a row. A known stride is 1 or 2:
// the taps of one pixel are also those of the next. 0 is any stride and dilation.
__host__ __device__ constexpr int direct_weight_pixels(int known_stride) {
  return known_stride == 1 ? 4 : 2;
}

// What a thread computes at once: kOuts channels of y of a group, kRows rows of kColumns taps.
template <int kGroupChannels, int kOutChannels, int kTapRows, int kTapColumns>
struct DirectTask {
  static constexpr int kGroup = kGroupChannels;
  static constexpr int kOuts = kOutChannels;
  static constexpr int kRows = kTapRows;
  static constexpr int kColumns = kTapColumns;
  static constexpr int kOutParts = kGroup / kOuts;
  static constexpr int kSums = kRows * kColumns * kOuts * kDirectChannels;
};

// Eight levels less the zero_point.
__device__ inline void levels_of(uint2 levels, float shift, float (&values)[8]) {
  const std::uint32_t words[2] = {levels.x ^ 0x80808080u, levels.y ^ 0x80808080u};
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint32_t word = __byte_perm(words[i / 4], 0x4B000000u, 0x7440u | i % 4);
    values[i] = __uint_as_float(word) - shift;
  }
}

template <typename Task, int kStride>
class DirectWeightSums {
 public:
  static constexpr int kPixels = direct_weight_pixels(kStride);

  __device__ DirectWeightSums(const DirectWeightArgs& args, int chunk, int task)
      : args_(args),
        chunk_(chunk),
        out_(task % Task::kOutParts * Task::kOuts),
        first_row_(task / Task::kOutParts * Task::kRows) {
    const int zero_point = args.zero_point == nullptr ? 0 : *args.zero_point;
    shift_ = level_shift(zero_point);
    pad_ = static_cast<std::uint8_t>(zero_point) * 0x01010101u;
  }

  // Some pixels of a row of y.
  __device__ void add(int item) {
    const ConvGeometry& c = args_.conv;
    const int y_row = args_.row_items.divide(item);
    const int x = (item - y_row * args_.row_items.divisor()) * kPixels;
    const int b = args_.height.divide(y_row);
    const int y = y_row - b * args_.height.divisor();
    EightReals g[kPixels];
    const std::uint16_t* const from = args_.g +
                                      (std::int64_t{y_row} * c.out_width + x) * c.out_channels +
                                      chunk_ * kDirectChannels;
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      if (x + p < c.out_width) g[p].load(from + std::int64_t{p} * c.out_channels);
      if (Task::kOutParts == 2 && out_ != 0) g[p].take_upper();
    }
#pragma unroll
    for (int row = 0; row < Task::kRows; ++row) {
      const int in_y = y * c.stride_h - c.pad_top + (first_row_ + row) * c.dilation_h;
      add_row(row,
              args_.q + (std::int64_t{b} * c.height + in_y) * c.width * c.channels +
                  chunk_ * kDirectChannels,
              in_y >= 0 && in_y < c.height, x * c.stride_w - c.pad_left, g);
    }
  }

  // Lanes of the same chunk: `step` apart, and its multiples.
  __device__ void add_lanes(int step) {
    for (int apart = 16; apart >= step; apart /= 2) {
#pragma unroll
      for (int i = 0; i < Task::kSums; ++i) {
        values_[i] += __shfl_xor_sync(0xFFFFFFFFu, values_[i], apart);
      }
    }
  }

  __device__ void store(float* to) const {
#pragma unroll
    for (int i = 0; i < Task::kSums; ++i) to[i] = values_[i];
  }

 private:
  // One row of taps; x is where the first pixel's window begins. Loads do not hang on branches, so
  // that many are on their way.
  __device__ void add_row(int row, const std::int8_t* q, bool inside, int x,
                          const EightReals (&g)[kPixels]) {
    constexpr int kPlaces =
        kStride == 0 ? kPixels * Task::kColumns : (kPixels - 1) * kStride + Task::kColumns;
    uint2 read[kPlaces];
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      read[i] = {pad_, pad_};  // less the zero_point: 0
      const int at = kStride == 0 ? x + i / Task::kColumns * args_.conv.stride_w +
                                        i % Task::kColumns * args_.conv.dilation_w
                                  : x + i;
      if (inside && at >= 0 && at < args_.conv.width) {
        read[i] = __ldg(reinterpret_cast<const uint2*>(q + std::int64_t{at} * args_.conv.channels));
      }
    }
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      float levels[kDirectChannels];
      levels_of(read[i], shift_, levels);
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        const int column = i - p * (kStride == 0 ? Task::kColumns : kStride);
        if (column < 0 || column >= Task::kColumns) continue;
#pragma unroll
        for (int out = 0; out < Task::kOuts; ++out) {
#pragma unroll
          for (int c = 0; c < kDirectChannels; ++c) {
            float& sum =
                values_[((row * Task::kColumns + column) * Task::kOuts + out) * kDirectChannels +
                        c];
            sum = fmaf(g[p][c / Task::kGroup * Task::kGroup + out], levels[c], sum);
          }
        }
      }
    }
  }

  const DirectWeightArgs& args_;
  int chunk_, out_, first_row_;
  float shift_;
  std::uint32_t pad_;  // four levels
  float values_[Task::kSums] = {};
};

}  // namespace qsim::golden::train::cuda
