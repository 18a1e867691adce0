// The arithmetic that the kernels of the float executor share (golden/graph/real/real_arithmetic.h
// is the host's). The functions round once each, whatever the compiler's options are.
#pragma once

#include <cstdint>

#include "golden/common/float_formats.h"
#include "golden/device/launch.cuh"
#include "golden/graph/real/cuda/kernels/real_kernels.h"

namespace qsim::golden::cuda {

constexpr int kThreads = 256;  // of the kernels with an element a thread
constexpr int kChunkProducts = 256;

// A NaN that a layer computes has the bits 0x7FC00000.
__device__ inline float canonical(float value) {
  return value == value ? value : __uint_as_float(kFp32Nan);
}

// What becomes of a sum of products.
__device__ inline float finished(const Products& p, std::int64_t channel, float total) {
  if (p.scales != nullptr) {
    total = __fadd_rn(__fmul_rn(total, p.scales[channel]), p.bias[channel]);
  }
  return canonical(total);
}

// Where a sum of products starts.
__device__ inline float start(const Products& p, std::int64_t channel) {
  return p.scales == nullptr ? p.bias[channel] : 0.0F;
}

// The first position of the window of an output pixel, and the element there of a group's first
// channel; any of them may be outside the picture.
struct Corner {
  std::int64_t row;
  std::int64_t col;
  std::int64_t element;
};

__device__ inline Corner corner_of(const Products& p, std::int64_t pixel, std::int64_t group) {
  const std::int64_t places = p.out.height * p.out.width;
  const std::int64_t n = pixel / places;
  const std::int64_t place = pixel - n * places;
  const std::int64_t oy = place / p.out.width;
  const std::int64_t ox = place - oy * p.out.width;
  const std::int64_t row = oy * p.window.stride_h - p.window.pad_top;
  const std::int64_t col = ox * p.window.stride_w - p.window.pad_left;
  return {row, col,
          ((n * p.in.height + row) * p.in.width + col) * p.in.channels + group * p.channels};
}

__device__ inline bool is_inside(const Products& p, const Corner& corner, const ProductTap& tap) {
  const std::int64_t row = corner.row + tap.row;
  const std::int64_t col = corner.col + tap.col;
  return row >= 0 && row < p.in.height && col >= 0 && col < p.in.width;
}

}  // namespace qsim::golden::cuda
