#include "golden/kernels/linear/cuda/linear_launch.h"

#include <algorithm>
#include <limits>
#include <string>

#include <cuda_runtime.h>

#include "core/base/error.h"
#include "golden/device/cuda_error.h"
#include "golden/kernels/linear/cuda/linear_kernels.h"
#include "golden/kernels/linear/cuda/rows_after.h"

namespace qsim::golden::cuda {
namespace {

int shared_limit() {
  int device = 0;
  int bytes = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory of a block");
  return bytes;
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
        "asking for the number of multiprocessors");
  return count;
}

// Blocks are counted in 31 bits; the kernels have one for 8 or more channels of a row.
std::int64_t rows_of_launch(const DeviceWeights& weights) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return kMost / ((weights.out_features + 7) / 8);
}

// The plans of the kernels that have one, for the current device.
struct Plans {
  RowPlan rows;
  BatchPlan batch;
  HopperPlan hopper;
};

Plans plans_of(const DeviceWeights& weights, const LinearCall& call) {
  const int limit = shared_limit();
  const auto group_size = static_cast<int>(weights.group_size);
  const auto in_features = static_cast<int>(weights.in_features);
  const int x_rows = batch_x_rows(call.rows);
  return {plan_rows({weights.bits, group_size, weights.out_features, in_features, call.stages,
                     limit, call.kernel == LinearKernel::kManyRows ? kManyRowWarps : 0}),
          plan_batch(weights.bits, group_size, in_features, x_rows, call.stages, limit),
          plan_hopper(weights.out_features, in_features, x_rows,
                      static_cast<int>(float_type_bytes(call.x_type)), multiprocessors(),
                      call.stages, limit)};
}

bool can_run(const DeviceWeights& weights, const Plans& plans, LinearKernel kernel) {
  switch (kernel) {
    case LinearKernel::kManyRows:
      return has_aligned_rows(weights) && weights.group_size == 0 &&
             has_row_pipeline(plans.rows, 0);
    case LinearKernel::kRows:
      return has_aligned_rows(weights) && has_row_pipeline(plans.rows, weights.group_size);
    case LinearKernel::kBatch:
      return has_aligned_rows(weights) && plans.batch.stages >= 2;
    case LinearKernel::kHopper:
      return has_hopper_batch(weights, plans.hopper);
    default:
      return true;
  }
}

LinearKernel chosen(const DeviceWeights& weights, const LinearCall& call, const Plans& plans) {
  if (call.kernel != LinearKernel::kAuto) return call.kernel;
  if (call.rows == 1 && can_run(weights, plans, LinearKernel::kRows)) return LinearKernel::kRows;
  for (const LinearKernel kernel : {LinearKernel::kHopper, LinearKernel::kBatch}) {
    if (can_run(weights, plans, kernel)) return kernel;
  }
  return LinearKernel::kPlain;
}

void launch(const DeviceWeights& weights, const LinearCall& call, cudaStream_t stream) {
  const Plans plans = plans_of(weights, call);
  const LinearKernel kernel = chosen(weights, call, plans);
  QSIM_CHECK(can_run(weights, plans, kernel), "a layer that the kernel computes");
  switch (kernel) {
    case LinearKernel::kRows:
    case LinearKernel::kManyRows:
      return launch_linear_rows(weights, call, plans.rows, stream);
    case LinearKernel::kBatch:
      return launch_linear_batch(weights, call, plans.batch, stream);
    case LinearKernel::kHopper:
      return launch_linear_batch_hopper(weights, call, plans.hopper, stream);
    default:
      return launch_linear_plain(weights, call, stream);
  }
}

}  // namespace

bool can_run(const DeviceWeights& weights, const LinearCall& call) {
  return can_run(weights, plans_of(weights, call), call.kernel);
}

void enqueue_linear(const DeviceWeights& weights, const LinearCall& call, void* stream) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  check_channels(weights.out_features);
  QSIM_CHECK(call.rows >= 1, "rows of x");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  LinearCall part = call;
  for (std::int64_t row = 0; row < call.rows; row += part.rows) {
    part.rows = std::min(call.rows - row, rows_of_launch(weights));
    launch(weights, part, cuda_stream);
    part.x = after(part.x, part.rows * weights.in_features, call.x_type);
    part.y = const_cast<void*>(after(part.y, part.rows * weights.out_features, call.y_type));
  }
}

}  // namespace qsim::golden::cuda
