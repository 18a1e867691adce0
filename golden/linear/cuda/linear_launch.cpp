#include "golden/linear/cuda/linear_launch.h"

#include <limits>

#include <cuda_runtime.h>

#include "core/error.h"
#include "golden/device/cuda_error.h"
#include "golden/linear/cuda/linear_kernels.h"

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

// Blocks are counted in 31 bits, and each kernel's 16 or 8 channels of a row have one.
bool fits_grid(const DeviceWeights& weights, const LinearCall& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return weights.out_features <= kMost - kRowChannels &&
         call.rows <= kMost / ((weights.out_features + 7) / 8);
}

// On an H200 five stages are the best for many weights (8192 x 28672: 59.9 us, with the three that
// leave room for the next kernel 65.2 us), and those of plan_rows() for few.
int row_stages(const DeviceWeights& weights, const LinearCall& call) {
  constexpr std::int64_t kManyBytes = std::int64_t{32} << 20;
  const bool many = weights.row_bytes * weights.out_features >= kManyBytes;
  return call.stages == 0 && many && weights.group_size == 0 ? 5 : call.stages;
}

LinearKernel chosen(const DeviceWeights& weights, const LinearCall& call, const RowPlan& rows,
                    const BatchPlan& batch) {
  const bool aligned = has_aligned_rows(weights);
  const bool rows_can = aligned && rows.stages >= 2;
  const bool batch_can = aligned && batch.stages >= 2;
  switch (call.kernel) {
    case LinearKernel::kAuto:
      if (rows_can && call.rows == 1) return LinearKernel::kRows;
      return batch_can ? LinearKernel::kBatch : LinearKernel::kPlain;
    case LinearKernel::kRows:
      QSIM_CHECK(rows_can, "a layer that linear_rows computes");
      return LinearKernel::kRows;
    case LinearKernel::kBatch:
      QSIM_CHECK(batch_can, "a layer that linear_batch computes");
      return LinearKernel::kBatch;
    case LinearKernel::kPlain:
      break;
  }
  return LinearKernel::kPlain;
}

}  // namespace

void enqueue_linear(const DeviceWeights& weights, const LinearCall& call, void* stream) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  QSIM_CHECK(call.rows >= 1 && fits_grid(weights, call), "rows of x that one launch takes");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const int limit = shared_limit();
  const auto group_size = static_cast<int>(weights.group_size);
  const auto in_features = static_cast<int>(weights.in_features);
  const RowPlan rows =
      plan_rows(weights.bits, group_size, in_features, row_stages(weights, call), limit);
  const BatchPlan batch = plan_batch(weights.bits, group_size, in_features, batch_x_rows(call.rows),
                                     call.stages, limit);
  switch (chosen(weights, call, rows, batch)) {
    case LinearKernel::kRows:
      return launch_linear_rows(weights, call, rows, cuda_stream);
    case LinearKernel::kBatch:
      return launch_linear_batch(weights, call, batch, cuda_stream);
    default:
      return launch_linear_plain(weights, call, cuda_stream);
  }
}

}  // namespace qsim::golden::cuda
