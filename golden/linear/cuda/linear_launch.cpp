#include "golden/linear/cuda/linear_launch.h"

#include <limits>

#include <cuda_runtime.h>

#include "core/error.h"
#include "golden/device/cuda_error.h"
#include "golden/linear/cuda/linear_kernels.h"

namespace qsim::golden::cuda {
namespace {

int compute_capability() {
  int device = 0;
  int major = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking for the compute capability");
  return major;
}

// Blocks are counted in 31 bits, and each kernel's 16 or 8 channels of a row have one.
bool fits_grid(const DeviceWeights& weights, const LinearCall& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return weights.out_features <= kMost - kRowChannels &&
         call.rows <= kMost / ((weights.out_features + 7) / 8);
}

}  // namespace

void enqueue_linear(const DeviceWeights& weights, const LinearCall& call, void* stream) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  QSIM_CHECK(call.rows >= 1 && fits_grid(weights, call), "rows of x that one launch takes");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const RowPlan plan = plan_rows(weights.bits, static_cast<int>(weights.group_size),
                                 static_cast<int>(weights.in_features), call.stages);
  const bool rows_can = compute_capability() == 9 && has_aligned_rows(weights) && plan.stages >= 2;
  QSIM_CHECK(call.kernel != LinearKernel::kRows || rows_can, "a layer that linear_rows computes");
  if (rows_can && call.kernel != LinearKernel::kPlain) {
    launch_linear_rows(weights, call, plan, cuda_stream);
  } else {
    launch_linear_plain(weights, call, cuda_stream);
  }
}

}  // namespace qsim::golden::cuda
