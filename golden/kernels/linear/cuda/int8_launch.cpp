#include "golden/kernels/linear/cuda/int8_launch.h"

#include <algorithm>
#include <limits>

#include <cuda_runtime.h>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/cuda_error.h"
#include "golden/kernels/linear/cuda/int8_kernels.h"
#include "golden/kernels/linear/cuda/linear_kernels.h"
#include "golden/kernels/linear/cuda/rows_after.h"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kAlignment = 128;
// The most rows that int8_rows computes with one reading of the weights.
constexpr std::int64_t kMostForRows = 16;
// On an H200 int8_matrix is the faster one from 8 rows on where it has work for most
// multiprocessors (8192 x 28672: 65 us and 68 us), and from 17 on elsewhere.
constexpr std::int64_t kFewestForMatrix = 8;
constexpr std::int64_t kChannelsOfBlock = 128;

int attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking for what the device has");
  return value;
}

std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

std::int64_t code_stride(std::int64_t in_features) {
  return ceil_div(in_features, std::int64_t{kInt8RowUnit}) * kInt8RowUnit;
}

// Rows that a block of int8_rows takes on the current device.
int rows_of_block(std::int64_t rows, std::int64_t in_features) {
  return int8_rows_of_block(rows, code_stride(in_features),
                            attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

// Blocks are counted in 31 bits; the kernels have at most one for each multiprocessor and row.
std::int64_t rows_of_launch() {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return kMost / attribute(cudaDevAttrMultiProcessorCount);
}

Int8Job job_for(const DeviceWeights& weights, const Int8LinearCall& call) {
  Int8Job job{};
  job.x = call.x;
  job.weights = static_cast<const std::uint8_t*>(weights.values);
  job.weight_scales = weights.scales;
  job.bias = weights.bias;
  job.y = call.y;
  job.row_scales = static_cast<float*>(call.workspace);
  job.codes = static_cast<std::int8_t*>(call.workspace) + aligned(4 * call.rows);
  job.row_bytes = weights.row_bytes;
  job.rows = call.rows;
  job.in_features = static_cast<int>(weights.in_features);
  job.out_features = static_cast<int>(weights.out_features);
  job.code_stride = static_cast<int>(code_stride(weights.in_features));
  job.static_scale = call.activations.scale.value_or(0.0F);
  job.x_type = call.x_type;
  job.y_type = call.y_type;
  job.constant = weights.constant;
  job.x_is_aligned =
      reinterpret_cast<std::uintptr_t>(call.x) % 16 == 0 && weights.in_features % 8 == 0;
  return job;
}

Int8LinearKernel chosen(const DeviceWeights& weights, const Int8LinearCall& call) {
  if (call.kernel != Int8LinearKernel::kAuto) return call.kernel;
  const bool has_rows = has_int8_kernel(weights, Int8LinearKernel::kRows);
  if (has_rows && call.rows < kFewestForMatrix) return Int8LinearKernel::kRows;
  const bool has_matrix = has_int8_kernel(weights, Int8LinearKernel::kMatrix);
  const bool fills =
      weights.out_features >= kChannelsOfBlock * attribute(cudaDevAttrMultiProcessorCount);
  if (has_matrix && (fills || !has_rows || call.rows > kMostForRows)) {
    return Int8LinearKernel::kMatrix;
  }
  return has_rows ? Int8LinearKernel::kRows : Int8LinearKernel::kPlain;
}

void launch(const DeviceWeights& weights, const Int8LinearCall& call, cudaStream_t stream) {
  const Int8LinearKernel kernel = chosen(weights, call);
  const Int8Job job = job_for(weights, call);
  if (kernel != Int8LinearKernel::kRows || job.rows > 1) launch_int8_codes(job, stream);
  if (kernel == Int8LinearKernel::kPlain) return launch_int8_plain(job, stream);
  if (kernel == Int8LinearKernel::kMatrix) {
    return launch_int8_matrix(job, attribute(cudaDevAttrMultiProcessorCount), stream);
  }
  launch_int8_rows(job, rows_of_block(call.rows, weights.in_features), stream);
}

}  // namespace

std::int64_t int8_workspace_bytes(std::int64_t rows, std::int64_t in_features) {
  return aligned(4 * rows) + checked_mul(rows, code_stride(in_features));
}

bool has_int8_kernel(const DeviceWeights& weights, Int8LinearKernel kernel) {
  switch (kernel) {
    case Int8LinearKernel::kRows:
      return has_aligned_rows(weights) && rows_of_block(1, weights.in_features) > 0;
    case Int8LinearKernel::kMatrix:
      return has_aligned_rows(weights) && attribute(cudaDevAttrComputeCapabilityMajor) == 9;
    default:
      return true;
  }
}

void enqueue_int8_linear(const DeviceWeights& weights, const Int8LinearCall& call, void* stream) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  check_channels(weights.out_features);
  check_int8_activations(weights.group_size, weights.bits, call.activations);
  QSIM_CHECK(call.rows >= 1, "a layer of at least one row");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  Int8LinearCall part = call;
  for (std::int64_t row = 0; row < call.rows; row += part.rows) {
    part.rows = std::min(call.rows - row, rows_of_launch());
    launch(weights, part, cuda_stream);
    part.x = after(part.x, part.rows * weights.in_features, call.x_type);
    part.y = const_cast<void*>(after(part.y, part.rows * weights.out_features, call.y_type));
  }
}

}  // namespace qsim::golden::cuda
