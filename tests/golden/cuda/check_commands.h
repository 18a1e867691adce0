// The commands of golden_cuda_check, which compares the CUDA golden with golden/graph/cpu on a
// machine with a GPU. Each prints what it found and returns an exit code of core/base/error.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "golden/graph/cuda/graph_executor.h"

namespace qsim::golden_test {

class ChosenCases;

struct RandomOptions {
  std::int64_t count = 2000;
  std::uint64_t seed = 1;                // of the first case; the next case has the next seed
  std::int64_t most_macs = 500'000'000;  // of most layers; other values make other cases
  std::vector<golden::CudaPath> paths;   // hopper is left out where the device does not have it
  bool every_kernel = false;             // then each instance of kernels, for sanitizers
};

// kMismatch for a byte that differs, after all cases; kInternal when nothing was compared, when a
// kernel family that the paths have was never met by 100 or more cases, or when 600 or more, or
// every_kernel, did not meet every tile of conv_wgmma on path hopper.
ExitCode check_random(const RandomOptions& options, ChosenCases& chosen);

struct NetworkOptions {
  std::filesystem::path workload;  // one of these two
  std::filesystem::path onnx;
  std::int64_t batch = 1;
  std::vector<golden::CudaPath> paths;
  // A CIFAR-10 batch whose pictures are classified, and how many of them; absent: one batch of
  // random pictures.
  std::optional<std::filesystem::path> images;
  std::int64_t count = 0;  // 0: all; more than there are is an error
};

// kMismatch for a byte that differs in any ofmap of any picture; kInternal when nothing was
// compared, or when an ofmap is one value throughout and so shows nothing.
ExitCode check_network(const NetworkOptions& options);

struct BenchOptions {
  std::filesystem::path workload;
  std::int64_t batch = 1;
  int runs = 21;
  golden::CudaPath path = golden::CudaPath::kAuto;
};

ExitCode bench_network(const BenchOptions& options);

}  // namespace qsim::golden_test
