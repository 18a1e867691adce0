#include "golden/linear/cuda/int8_launch.h"

#include <algorithm>

#include <cuda_runtime.h>

#include "core/checked_math.h"
#include "core/error.h"
#include "golden/device/cuda_error.h"
#include "golden/linear/cuda/int8_kernels.h"
#include "golden/linear/cuda/linear_kernels.h"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kAlignment = 128;

int attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking for what the device has");
  return value;
}

std::int64_t scale_bytes(std::int64_t rows) { return ceil_div(rows * 4, kAlignment) * kAlignment; }

Int8Job job_for(const DeviceWeights& weights, const Int8LinearCall& call) {
  Int8Job job{};
  job.x = call.x;
  job.weights = static_cast<const std::uint8_t*>(weights.values);
  job.weight_scales = weights.scales;
  job.bias = weights.bias;
  job.y = call.y;
  job.row_scales = static_cast<float*>(call.workspace);
  job.codes = static_cast<std::int8_t*>(call.workspace) + scale_bytes(call.rows);
  job.row_bytes = weights.row_bytes;
  job.rows = call.rows;
  job.in_features = static_cast<int>(weights.in_features);
  job.out_features = static_cast<int>(weights.out_features);
  job.code_stride =
      static_cast<int>(ceil_div(weights.in_features, std::int64_t{kInt8RowUnit}) * kInt8RowUnit);
  job.static_scale = call.activations.scale.value_or(0.0F);
  job.x_type = call.x_type;
  job.y_type = call.y_type;
  job.constant = weights.constant;
  job.x_is_aligned =
      reinterpret_cast<std::uintptr_t>(call.x) % 16 == 0 && weights.in_features % 8 == 0;
  return job;
}

}  // namespace

std::int64_t int8_workspace_bytes(std::int64_t rows, std::int64_t in_features, std::int64_t) {
  const std::int64_t stride = ceil_div(in_features, std::int64_t{kInt8RowUnit}) * kInt8RowUnit;
  return scale_bytes(rows) + checked_mul(rows, stride);
}

bool has_int8_kernel(const DeviceWeights& weights, Int8LinearKernel kernel) {
  Int8LinearCall one_row;
  one_row.rows = 1;
  const int limit = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  switch (kernel) {
    case Int8LinearKernel::kRows:
      return has_aligned_rows(weights) && int8_rows_of_block(job_for(weights, one_row), limit) > 0;
    case Int8LinearKernel::kMatrix:
      return false;
    default:
      return true;
  }
}

void enqueue_int8_linear(const DeviceWeights& weights, const Int8LinearCall& call, void* stream) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  check_int8_activations(weights.group_size, weights.bits, call.activations);
  QSIM_CHECK(call.rows >= 1, "a layer of at least one row");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  Int8LinearKernel kernel = call.kernel;
  if (kernel == Int8LinearKernel::kAuto) {
    kernel = has_int8_kernel(weights, Int8LinearKernel::kRows) ? Int8LinearKernel::kRows
                                                               : Int8LinearKernel::kPlain;
  }
  const Int8Job job = job_for(weights, call);
  if (kernel != Int8LinearKernel::kRows || job.rows > 1) launch_int8_codes(job, cuda_stream);
  if (kernel == Int8LinearKernel::kPlain) return launch_int8_plain(job, cuda_stream);
  const int limit = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  launch_int8_rows(job, int8_rows_of_block(job, limit), cuda_stream);
}

}  // namespace qsim::golden::cuda
