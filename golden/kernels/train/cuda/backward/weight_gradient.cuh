// The gradient of a convolution's weights as a product: rows are channels of g, columns taps and
// channels of q, depths the pixels of g. For weight_gradient.cu.
#pragma once

#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/conv_geometry.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kWeightRows = 64;     // channels of g of a block
inline constexpr int kWeightColumns = 64;  // of q
inline constexpr int kWeightPixels = 64;   // of a step
inline constexpr int kWeightThreads = 128;
inline constexpr int kWeightTileBytes = kWeightPixels * 128;
inline constexpr int kWeightStagesOfG = 3;
inline constexpr int kWeightStagesOfQ = 2;

// What becomes of the sums: dw, where one block has all pixels; else sums of a part of them.
struct WeightOutput {
  float* sums;  // [parts][out_channels][depth], or null
  const float* scale;
  const std::uint8_t* passes;
  RealView dw;
  bool dense;  // dw has no gaps
  bool pairs;  // and takes two at a time
  bool words;  // and 32 columns, aligned to them, have a word of passes; sums is null
};

struct WeightGradientArgs {
  ConvGeometry conv;
  const std::int8_t* q;
  const std::int32_t* zero_point;
  const std::uint16_t* g;
  WeightOutput out;
  golden::cuda::FastDivisor picture, width;  // pixels of y
  int pixels, depth, row_tiles, column_tiles;
  int part_steps;  // of a block
};

// dw of one weight.
__device__ inline void store_weight(const WeightOutput& out, const ConvGeometry& c, int row,
                                    int column, float sum) {
  const int depth = c.kernel_h * c.kernel_w * c.group_in;
  const float value =
      passes_at(out.passes, std::int64_t{row} * depth + column) ? sum * *out.scale : 0.0F;
  const int tap = column / c.group_in;
  const int tap_h = tap / c.kernel_w;
  static_cast<float*>(out.dw.data)[row * out.dw.stride_b + tap_h * out.dw.stride_h +
                                   (tap - tap_h * c.kernel_w) * out.dw.stride_w +
                                   (column - tap * c.group_in) * out.dw.stride_c] = value;
}

// Blocks of row tiles follow each other, then those of column tiles, groups and parts.
struct WeightBlock {
  int first_row, group, part;
  int tap, first_column;  // in vectors: of the tap; else tap is 0 and columns are flat

  template <bool kVectors>
  __device__ static WeightBlock of(const WeightGradientArgs& args) {
    WeightBlock block;
    int left = static_cast<int>(blockIdx.x);
    block.first_row = left % args.row_tiles * kWeightRows;
    left /= args.row_tiles;
    const int column_tile = left % args.column_tiles;
    left /= args.column_tiles;
    block.group = left % args.conv.groups;
    block.part = left / args.conv.groups;
    const int tap_tiles = (args.conv.group_in + kWeightColumns - 1) / kWeightColumns;
    block.tap = kVectors ? column_tile / tap_tiles : 0;
    block.first_column = (column_tile - block.tap * tap_tiles) * kWeightColumns;
    return block;
  }
};

// The sums of a warp: 32 rows and 32 columns.
struct WeightSums {
  float values[2][4][4] = {};

  // One step from shared memory: pixels of g at `a`, of levels at `b`.
  __device__ void multiply(std::uint32_t a, std::uint32_t b, int first_row, int first_column) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < kWeightPixels; k += 16) {
      std::uint32_t rows[2][4];
      std::uint32_t columns[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_turned(rows[i], a + in_rows_of_128(k + lane / 16 * 8 + lane % 8,
                                                first_row / 8 + 2 * i + lane / 8 % 2));
        load_turned(columns[i],
                    b + in_rows_of_128(k + lane % 16, first_column / 8 + 2 * i + lane / 16));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          multiply_bfloat16(values[i][j], rows[i], columns[j / 2][j % 2 * 2],
                            columns[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  // `first_column` is flat; columns from end_column on are not there.
  __device__ void store(const WeightGradientArgs& args, int part, int group, int first_row,
                        int first_column, int end_column) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const ConvGeometry& c = args.conv;
    if (args.out.words && first_column + 32 <= end_column) {
      store_words(args, group * c.group_out, first_row, first_column);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int in_group = first_row + 8 * i + lane / 4;
      if (in_group >= c.group_out) continue;
      const int row = group * c.group_out + in_group;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = first_column + 8 * j + lane % 4 * 2;
        const float2 two = {values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]};
        if (column >= end_column) continue;
        store_two(args, part, row, column, column + 1 < end_column, two);
      }
    }
  }

 private:
  // Stores to dw itself; the bits of 32 columns are a word.
  __device__ void store_words(const WeightGradientArgs& args, int group_row, int first_row,
                              int first_column) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float scale = *args.out.scale;
    std::uint32_t bits[4] = {};
    std::int64_t at[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first_row + 8 * i + lane / 4;
      at[i] = std::int64_t{group_row + row} * args.depth + first_column;
      if (row >= args.conv.group_out) continue;
      bits[i] = args.out.passes == nullptr
                    ? ~0U
                    : __ldg(reinterpret_cast<const std::uint32_t*>(args.out.passes + at[i] / 8));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first_row + 8 * i + lane / 4 >= args.conv.group_out) continue;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        *reinterpret_cast<float2*>(static_cast<float*>(args.out.dw.data) + at[i] + column) = {
            (bits[i] >> column & 1) != 0 ? values[i / 2][j][i % 2 * 2] * scale : 0.0F,
            (bits[i] >> column & 2) != 0 ? values[i / 2][j][i % 2 * 2 + 1] * scale : 0.0F};
      }
    }
  }

  __device__ static void store_two(const WeightGradientArgs& args, int part, int row, int column,
                                   bool has_second, float2 two) {
    const WeightOutput& out = args.out;
    const std::int64_t at = std::int64_t{row} * args.depth + column;
    if (out.sums != nullptr) {
      float* to = out.sums + std::int64_t{part} * args.conv.out_channels * args.depth + at;
      if (args.depth % 2 == 0 && has_second) {
        *reinterpret_cast<float2*>(to) = two;
        return;
      }
      to[0] = two.x;
      if (has_second) to[1] = two.y;
    } else if (out.pairs && has_second) {
      const float scale = *out.scale;
      *reinterpret_cast<float2*>(static_cast<float*>(out.dw.data) + at) = {
          passes_at(out.passes, at) ? two.x * scale : 0.0F,
          passes_at(out.passes, at + 1) ? two.y * scale : 0.0F};
    } else {
      store_weight(out, args.conv, row, column, two.x);
      if (has_second) store_weight(out, args.conv, row, column + 1, two.y);
    }
  }
};

}  // namespace qsim::golden::train::cuda
