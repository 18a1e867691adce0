// Enqueues a weight-only linear layer on a GPU: plain device pointers, no allocation, no
// synchronisation. docs/reference/kernels.md defines each bit of the result.
#pragma once

#include <cstdint>

#include "golden/kernels/linear/linear.h"

namespace qsim::golden::cuda {

// A layer's weights in device memory. Row n begins at values + n * row_bytes: int8, or of 4 bits
// two a byte, the first in the low bits.
struct DeviceWeights {
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  std::int64_t group_size = 0;  // as LinearWeights has it
  int bits = 8;
  const void* values = nullptr;
  std::int64_t row_bytes = 0;
  // The bytes of a row that may be read, at least those of its weights. The fast kernels read whole
  // multiples of 16: they need that, row_bytes and `values` are multiples of 16.
  std::int64_t readable_bytes = 0;
  const float* scales = nullptr;  // [out_features][groups]
  // For 4 bits, [out_features][groups]: in the weights' range, and signed as they are. Null: 8 for
  // all, or 0 if the weights are signed.
  const void* zero_points = nullptr;
  bool is_signed = false;       // of 4 bits: two's complement, -8..7; else 0..15
  const float* bias = nullptr;  // [out_features], or null: none
  // No work on the stream before this launch writes the weights, scales, zero_points or bias. Then
  // they are read while the kernel before it still runs.
  bool constant = false;
};

enum class LinearKernel : std::uint8_t {
  kAuto,
  kRows,      // tensor cores; for rows of weights that begin at multiples of 16 bytes
  kManyRows,  // the same with twice the warps, for many weights with one scale a channel
  kBatch,     // tensor cores, several rows of x at once
  kHopper,    // the same with wgmma, 8 bits with one scale a channel: compute capability 9.0
  kPlain,     // any alignment
};

// x [rows][in_features] and y [rows][out_features], row-major, aligned to their type.
struct LinearCall {
  FloatType x_type = FloatType::kFloat16;
  const void* x = nullptr;
  std::int64_t rows = 0;
  FloatType y_type = FloatType::kFloat16;
  void* y = nullptr;
  LinearKernel kernel = LinearKernel::kAuto;
  int stages = 0;  // of the pipelines; 0: chosen
};

// Whether call.kernel can compute the layer on the current device.
bool can_run(const DeviceWeights& weights, const LinearCall& call);

// Throws Error for more output channels than a launch can number.
void check_channels(std::int64_t out_features);

// Enqueues y = x W^T + b on `stream` (a cudaStream_t) of the current device. Throws Error for sizes
// that check_sizes() and check_channels() refuse, a kernel that cannot compute it, and without a
// device.
void enqueue_linear(const DeviceWeights& weights, const LinearCall& call, void* stream);

}  // namespace qsim::golden::cuda
