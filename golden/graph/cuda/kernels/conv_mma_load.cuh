// Brings the operands of conv_mma from global to shared memory, a stage of kMmaDepth bytes of
// gemm_k at a time. im2col is done by addresses alone.
//
// A stage holds rows of 64 bytes, activations first, then weights. A row's 16-byte chunk c lies at
// place c ^ (row / 2 % 4): eight rows read at once by ldmatrix then fall into different banks.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/graph/cuda/kernels/conv_mma.h"

namespace qsim::golden::cuda {

__device__ constexpr int mma_chunk_offset(int row, int chunk) {
  return row * kMmaDepth + (chunk ^ (row / 2 % 4)) * kMmaChunk;
}

// Walks one chunk column of the activations of a block along gemm_k. kUnit is what it moves at a
// time: a divisor of 16 and of the channels, so that a unit belongs to one window position.
template <typename Tile, int kUnit>
class MmaActivations {
 public:
  __device__ MmaActivations(const MmaConv& conv, int first_pixel)
      : conv_(conv),
        chunk_(threadIdx.x % kMmaChunks),
        row_(threadIdx.x / kMmaChunks),
        parts_left_(conv.weight_parts) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      locate(i, first_pixel + mma_pixel_of_row(row_ + i * kRowStep, Tile::kRows));
    }
    skip(chunk_ * kChunkUnits);
  }

  // Starts loading the next stage to `shared`. A plain store (kUnit 1) is seen by other threads
  // after the same barrier as a copy.
  __device__ void load(std::uint32_t shared, std::uint8_t* shared_bytes) {
#pragma unroll
    for (int u = 0; u < kChunkUnits; ++u) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int offset = mma_chunk_offset(row_ + i * kRowStep, chunk_) + u * kUnit;
        if constexpr (kUnit == 1) {
          shared_bytes[offset] = *source(i);
        } else {
          copy_async<kUnit>(shared + offset, source(i));
        }
      }
      skip(1);
    }
    skip((kMmaChunks - 1) * kChunkUnits);
  }

 private:
  static constexpr int kRowStep = kMmaThreads / kMmaChunks;
  static constexpr int kLoads = Tile::kM / kRowStep;
  static constexpr int kChunkUnits = kMmaChunk / kUnit;
  static constexpr int kNowhere = -(1 << 30);  // a row of no pixel: outside whatever ky is

  // Where the window of ofmap pixel `pixel` starts. With pooling, pixels 4p..4p+3 are a window of
  // it.
  __device__ void locate(int i, int pixel) {
    const int side = conv_.pool ? 2 : 1;
    const int width = conv_.out_width / side;
    const int height = conv_.out_height / side;
    const int cell = pixel / (side * side);
    const int corner = pixel % (side * side);
    const int oy = cell / width % height * side + corner / 2;
    const int ox = cell % width * side + corner % 2;
    y_[i] = pixel < conv_.pixels ? oy * conv_.stride_h - conv_.pad_top : kNowhere;
    x_[i] = ox * conv_.stride_w - conv_.pad_left;
    start_[i] =
        (cell / width / height * conv_.height + y_[i]) * static_cast<std::int64_t>(conv_.width) +
        x_[i];
  }

  // Past the depth (no part left) the weights are 0, so that any bytes will do.
  __device__ const std::uint8_t* source(int i) const {
    const bool inside =
        static_cast<unsigned>(y_[i] + y_step_) < static_cast<unsigned>(conv_.height) &&
        static_cast<unsigned>(x_[i] + x_step_) < static_cast<unsigned>(conv_.width) &&
        parts_left_ > 0;
    const std::int64_t pixel =
        start_[i] + static_cast<std::int64_t>(y_step_) * conv_.width + x_step_;
    return inside ? conv_.input + (pixel * conv_.units + unit_) * kUnit : conv_.fill;
  }

  __device__ void skip(int units) {
    unit_ += units;
    while (unit_ >= conv_.units) {
      unit_ -= conv_.units;
      x_step_ += conv_.dilation_w;
      if (++kx_ == conv_.kernel_w) {
        kx_ = 0;
        x_step_ = 0;
        y_step_ += conv_.dilation_h;
        if (++ky_ == conv_.kernel_h) {
          ky_ = 0;
          y_step_ = 0;
          --parts_left_;
        }
      }
    }
  }

  const MmaConv& conv_;
  int chunk_;
  int row_;
  int parts_left_;
  int ky_ = 0;
  int kx_ = 0;
  int y_step_ = 0;  // from the window's first row, in pixels
  int x_step_ = 0;
  int unit_ = 0;
  int y_[kLoads];
  int x_[kLoads];
  std::int64_t start_[kLoads];
};

// Starts loading stage `step` of the weights of a block's columns.
template <typename Tile>
__device__ void load_mma_weights(const MmaConv& conv, int column_tile, int step,
                                 std::uint32_t shared) {
  const std::int8_t* stage =
      conv.weights +
      (static_cast<std::int64_t>(column_tile) * conv.depth_steps + step) * (Tile::kN * kMmaDepth);
#pragma unroll
  for (int i = 0; i < Tile::kN * kMmaChunks / kMmaThreads; ++i) {
    const int chunk = threadIdx.x + i * kMmaThreads;
    copy_async<kMmaChunk>(shared + mma_chunk_offset(chunk / kMmaChunks, chunk % kMmaChunks),
                          stage + chunk * kMmaChunk);
  }
}

}  // namespace qsim::golden::cuda
