// How pixels of g and of levels come to shared memory, for weight_gradient.cu.
#pragma once

#include "golden/kernels/train/cuda/backward/weight_gradient.cuh"

namespace qsim::golden::train::cuda {

// A thread's part: 8 channels of every 16th pixel of a step.
inline constexpr int kWeightPixelsOfThread = kWeightPixels * 8 / kWeightThreads;
inline constexpr int kWeightPixelStep = kWeightThreads / 8;

template <bool kVectors>
class OperandCopies {
 public:
  __device__ OperandCopies(const WeightGradientArgs& args, const WeightBlock& block)
      : args_(args), channel_(block.first_row + static_cast<int>(threadIdx.x) % 8 * 8) {
    g_ = args.g + block.group * args.conv.group_out;
  }

  __device__ void copy(int first_pixel, std::uint32_t shared) const {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < kWeightPixelsOfThread; ++i) {
      const int in_step = thread / 8 + i * kWeightPixelStep;
      const int pixel = first_pixel + in_step;
      const std::uint32_t to = shared + in_rows_of_128(in_step, thread % 8);
      const std::int64_t at = std::int64_t{pixel} * args_.conv.out_channels + channel_;
      if constexpr (kVectors) {
        const bool inside = pixel < args_.pixels && channel_ < args_.conv.group_out;
        copy_16(to, g_ + (inside ? at : 0), inside);
      } else {
        std::uint32_t words[4] = {};
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          if (pixel >= args_.pixels || channel_ + j >= args_.conv.group_out) continue;
          words[j / 2] |= std::uint32_t{g_[at + j]} << (j % 2 * 16);
        }
        store_16(to, {words[0], words[1], words[2], words[3]});
      }
    }
  }

 private:
  const WeightGradientArgs& args_;
  const std::uint16_t* g_;
  int channel_;  // of the group
};

// The levels of a step: in registers while the step before is multiplied, then in shared memory.
// A pad is the zero_point.
template <bool kVectors>
class LevelLoads {
 public:
  __device__ LevelLoads(const WeightGradientArgs& args, const WeightBlock& block)
      : args_(args), q_(args.q + block.group * args.conv.group_in) {
    const ConvGeometry& c = args.conv;
    const int zero_point = args.zero_point == nullptr ? 0 : *args.zero_point;
    shift_ = level_shift(zero_point);
    pads_ = static_cast<std::uint8_t>(zero_point) * 0x01010101u;
    column_ = block.first_column + static_cast<int>(threadIdx.x) % 8 * 8;
    if constexpr (kVectors) {
      const int tap_h = block.tap / c.kernel_w;
      tap_y_ = tap_h * c.dilation_h - c.pad_top;
      tap_x_ = (block.tap - tap_h * c.kernel_w) * c.dilation_w - c.pad_left;
    }
  }

  __device__ void load(int first_pixel) {
#pragma unroll
    for (int i = 0; i < kWeightPixelsOfThread; ++i) {
      const int pixel = first_pixel + static_cast<int>(threadIdx.x) / 8 + i * kWeightPixelStep;
      const int picture = args_.picture.divide(pixel);
      const int in_picture = pixel - picture * args_.picture.divisor();
      const int row = args_.width.divide(in_picture);
      const int column = in_picture - row * args_.width.divisor();
      levels_[i] = {pads_, pads_};
      if (pixel >= args_.pixels) continue;
      const int y = row * args_.conv.stride_h;
      const int x = column * args_.conv.stride_w;
      if constexpr (kVectors) {
        const std::int8_t* from = at(picture, y + tap_y_, x + tap_x_);
        if (from != nullptr && column_ < args_.conv.group_in) {
          levels_[i] = __ldg(reinterpret_cast<const uint2*>(from + column_));
        }
      } else {
        levels_[i] = gather(picture, y - args_.conv.pad_top, x - args_.conv.pad_left);
      }
    }
  }

  __device__ void store(std::uint32_t shared) const {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < kWeightPixelsOfThread; ++i) {
      store_16(shared + in_rows_of_128(thread / 8 + i * kWeightPixelStep, thread % 8),
               eight_levels(levels_[i], shift_));
    }
  }

 private:
  // Null: a pad.
  __device__ const std::int8_t* at(int picture, int y, int x) const {
    const ConvGeometry& c = args_.conv;
    if (y < 0 || y >= c.height || x < 0 || x >= c.width) return nullptr;
    return q_ + ((std::int64_t{picture} * c.height + y) * c.width + x) * c.channels;
  }

  // Eight flat columns of the window at (y, x).
  __device__ uint2 gather(int picture, int y, int x) const {
    const ConvGeometry& c = args_.conv;
    std::uint32_t words[2] = {pads_, pads_};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = column_ + j;
      if (column >= args_.depth) break;
      const int tap = column / c.group_in;
      const int tap_h = tap / c.kernel_w;
      const std::int8_t* from =
          at(picture, y + tap_h * c.dilation_h, x + (tap - tap_h * c.kernel_w) * c.dilation_w);
      if (from == nullptr) continue;
      const std::uint32_t level = static_cast<std::uint8_t>(from[column - tap * c.group_in]);
      words[j / 4] = (words[j / 4] & ~(0xFFu << (j % 4 * 8))) | level << (j % 4 * 8);
    }
    return {words[0], words[1]};
  }

  const WeightGradientArgs& args_;
  const std::int8_t* q_;
  std::uint32_t pads_;
  float shift_;
  int column_;  // of the group, or flat
  int tap_y_ = 0, tap_x_ = 0;
  uint2 levels_[kWeightPixelsOfThread];
};

}  // namespace qsim::golden::train::cuda
