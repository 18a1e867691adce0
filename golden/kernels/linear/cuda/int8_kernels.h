// The kernels of linear layers with int8 activations: what a launch works on, and each one's
// launch. int8_launch.cpp chooses.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/linear/cuda/int8_launch.h"

namespace qsim::golden::cuda {

// A launch's arguments on the device.
struct Int8Job {
  const void* x;
  const std::uint8_t* weights;
  const float* weight_scales;
  const float* bias;  // or null
  void* y;
  std::int8_t* codes;  // [rows][code_stride], zeros after in_features
  float* row_scales;   // [rows]
  std::int64_t row_bytes;
  std::int64_t rows;
  int in_features, out_features, code_stride;
  float static_scale;  // 0: each row its own
  FloatType x_type, y_type;
  bool constant;      // the weights
  bool x_is_aligned;  // eight elements from a multiple of 8 on are 16 or 32 aligned bytes
};

// Codes of a row take multiples of this.
inline constexpr int kInt8RowUnit = 128;

// x to codes and row_scales.
void launch_int8_codes(const Int8Job& job, cudaStream_t stream);

// Rows of x that the shared memory of a block takes, at most 16; 0: not even one.
int int8_rows_of_block(std::int64_t rows, std::int64_t code_stride, int shared_limit);
// By one row of x: makes its codes by itself, and needs none.
void launch_int8_rows(const Int8Job& job, int rows_of_block, cudaStream_t stream);

// Compute capability 9.0; rows of weights that are aligned.
void launch_int8_matrix(const Int8Job& job, int multiprocessors, cudaStream_t stream);

void launch_int8_plain(const Int8Job& job, cudaStream_t stream);

}  // namespace qsim::golden::cuda
