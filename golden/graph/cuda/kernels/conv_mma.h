// The convolution as a GEMM in tiles: what the mma.sync kernel and the code that packs for it agree
// on. gemm_m counts ofmap pixels, gemm_n output channels, gemm_k window positions times channels.
#pragma once

#include <cstdint>

#include "golden/graph/cuda/output_stage.h"

namespace qsim::golden::cuda {

inline constexpr int kMmaThreads = 128;
inline constexpr int kMmaStages = 4;
inline constexpr int kMmaDepth = 64;  // bytes of gemm_k in a stage
inline constexpr int kMmaChunk = 16;  // bytes that one thread brings at a time
inline constexpr int kMmaChunks = kMmaDepth / kMmaChunk;

// The part of the GEMM that a block computes, split over its four warps.
template <int kBlockM, int kBlockN, int kWarpM, int kWarpN>
struct MmaTile {
  static constexpr int kM = kBlockM;
  static constexpr int kN = kBlockN;
  static constexpr int kRows = kWarpM;     // of a warp
  static constexpr int kColumns = kWarpN;  // of a warp
  static constexpr int kSharedBytes = kMmaStages * (kM + kN) * kMmaDepth;
  static_assert(kM / kRows * (kN / kColumns) * 32 == kMmaThreads);
  static_assert(kRows % 32 == 0 && kColumns % 32 == 0);
};

using MmaTile128x128 = MmaTile<128, 128, 64, 64>;
using MmaTile128x64 = MmaTile<128, 64, 64, 32>;
using MmaTile64x64 = MmaTile<64, 64, 32, 32>;

// Which pixel a row of a tile is, as an index from the first of `rows` (those of the warp that
// holds it): a lane's accumulators are rows g, g + 8, g + 16, ..., and become neighbouring pixels
// in fours, which are the four of a pooling window.
QSIM_HOST_DEVICE constexpr int mma_pixel_of_row(int row, int rows) {
  const int in_warp = row % rows;
  const int lane_row = in_warp / 8;
  return row - in_warp + lane_row / 4 * 32 + in_warp % 8 * 4 + lane_row % 4;
}

// Which channel of a tile a column is, likewise: a lane's accumulators are columns 2q, 2q + 1,
// 2q + 8, 2q + 9, ..., and become neighbouring channels.
QSIM_HOST_DEVICE constexpr int mma_channel_of_column(int column, int columns) {
  const int in_warp = column % columns;
  return column - in_warp + in_warp % 8 / 2 * (columns / 4) + in_warp / 8 * 2 + in_warp % 2;
}

struct MmaConv {
  const std::uint8_t* input;
  const std::int8_t* weights;  // [column tiles][depth_steps][kN columns][kMmaDepth], zero padded
  const std::uint8_t* fill;    // kMmaChunk bytes: what lies outside the picture
  std::uint8_t* output;
  OutputParams params;  // of channels padded to whole tiles
  int height, width;    // of the input
  int units;            // groups of unit bytes in the channels of a pixel
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  int dilation_h, dilation_w;
  int weight_parts;                         // how often gemm_k goes through the window
  int out_height, out_width, out_channels;  // of the ofmap
  int pixels;                               // batch * out_height * out_width
  int depth_steps;
  int column_tiles;
  bool pool;
};

}  // namespace qsim::golden::cuda
