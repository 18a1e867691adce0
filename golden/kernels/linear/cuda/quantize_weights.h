// The quantizers of golden/kernels/linear/quantizer.h on a GPU: one kernel a call.
#pragma once

#include <cstdint>

#include "golden/kernels/linear/linear.h"

namespace qsim::golden::cuda {

// Pointers are of the device; values, scales and zero_points have no gaps.
struct WeightsToQuantize {
  FloatType type = FloatType::kFloat32;
  const void* floats = nullptr;  // [out_features][in_features] at these strides, in elements
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  std::int64_t group_size = 0;  // as LinearWeights has it
  int bits = 8;
  bool is_signed = false;  // of 4 bits: two's complement, and zero_points less by 8
  bool symmetric = true;   // of 4 bits
  void* values = nullptr;  // int8, or of 4 bits two a byte: a row begins at a byte
  float* scales = nullptr;
  std::uint8_t* zero_points = nullptr;  // of 4 bits, or null: not written
};

// Enqueues quantize_per_channel() or quantize_to_int4() on `stream` (a cudaStream_t) of the current
// device. A group with a weight that is not finite, which these refuse, has the scale NaN and the
// values of zero. Throws Error for sizes that check_weights() refuses, for more than 2^31 - 1
// groups, and for what CUDA refuses.
void enqueue_quantize(const WeightsToQuantize& weights, void* stream);

}  // namespace qsim::golden::cuda
