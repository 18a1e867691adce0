// Enqueues a linear layer with int8 activations (W8A8) on a GPU: plain device pointers, no
// allocation, no synchronisation. docs/reference/kernels.md defines each bit.
#pragma once

#include <cstdint>

#include "golden/kernels/linear/cuda/linear_launch.h"

namespace qsim::golden::cuda {

enum class Int8LinearKernel : std::uint8_t {
  kAuto,
  kRows,    // up to 16 rows of x at a time, on mma.sync: reading the weights is the work
  kMatrix,  // any number of rows, on wgmma: compute capability 9.0
  kPlain,   // any alignment of the weights; not fast
};

// x [rows][in_features] and y [rows][out_features], row-major, aligned to their type.
struct Int8LinearCall {
  FloatType x_type = FloatType::kFloat16;
  const void* x = nullptr;
  std::int64_t rows = 0;
  FloatType y_type = FloatType::kFloat16;
  void* y = nullptr;
  Int8Activations activations;
  // int8_workspace_bytes(), aligned to 128 bytes. No other launch that runs meanwhile may use it.
  void* workspace = nullptr;
  Int8LinearKernel kernel = Int8LinearKernel::kAuto;
};

// Bytes that a layer needs beside x, y and the weights: the scales and codes of x. One row alone
// needs none where kRows can compute it, but a caller need not know.
std::int64_t int8_workspace_bytes(std::int64_t rows, std::int64_t in_features);

// Whether this kernel can compute the layer on the current device.
bool has_int8_kernel(const DeviceWeights& weights, Int8LinearKernel kernel);

// Enqueues the layer on `stream` (a cudaStream_t) of the current device. Throws Error for what
// check_sizes(), check_channels() and check_int8_activations() refuse, and without a device.
void enqueue_int8_linear(const DeviceWeights& weights, const Int8LinearCall& call, void* stream);

}  // namespace qsim::golden::cuda
