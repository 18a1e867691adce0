// One random case of each forward call. Each returns where the GPU's result differs; empty:
// nowhere.
#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "golden/kernels/train/train.h"
#include "tests/golden/train/cuda/random_calls.h"

namespace qsim::golden_test {

std::string observe_case(Random& random, CallBuffers& buffers);
std::string quantize_levels_case(Random& random, CallBuffers& buffers);
std::string quantize_weights_case(Random& random, CallBuffers& buffers);
std::string conv_real_case(Random& random, CallBuffers& buffers);
std::string conv_levels_case(Random& random, CallBuffers& buffers);
std::string conv_statistics_case(Random& random, CallBuffers& buffers);
std::string conv_gradient_sums_case(Random& random, CallBuffers& buffers);
std::string conv_normalize_gradient_case(Random& random, CallBuffers& buffers);
std::string max_pool_case(Random& random, CallBuffers& buffers);

// Runs a call on both sides. make(on_device): the call.
template <typename Make>
void run_both(CallBuffers& buffers, const Make& make) {
  buffers.upload();
  const auto on_gpu = make(true);
  const golden::cuda::DeviceBuffer workspace = golden::cuda::poisoned(
      std::max<std::size_t>(golden::train::cuda::workspace_bytes(on_gpu), 1));
  golden::train::cuda::enqueue(on_gpu, workspace.as<void>(), nullptr);
  golden::cuda::check(cudaDeviceSynchronize(), "running a call");
  golden::ThreadTeam team(8);
  compute(make(false), team);
}

// An output that is there with this chance.
inline std::optional<std::size_t> maybe_output(Random& random, CallBuffers& buffers, double chance,
                                               std::int64_t bytes) {
  if (!random.chance(chance)) return std::nullopt;
  return buffers.add_output(bytes, random_shift(random));
}

}  // namespace qsim::golden_test
