// Executes a Graph on a GPU with the bits of RealExecutor: the same sums in the same order, the
// same rules and integer weights. The weights stay on the device. Needs no CUDA header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "golden/graph/real/real_executor.h"

namespace qsim::golden {

class CudaRealExecutor {
 public:
  // As RealExecutor's: each tensor when it is there, here as a copy in host memory.
  using OnTensor = RealExecutor::OnTensor;

  // Uploads the weights. The graph must outlive the executor; `options.plain` and
  // `options.vector_path` have no meaning here. Throws Error as RealExecutor does, and (exit code
  // 3) without a usable device or with too little device memory.
  explicit CudaRealExecutor(const Graph& graph, const RealExecutorOptions& options = {},
                            int device = 0);
  CudaRealExecutor(Graph&&, const RealExecutorOptions& = {}, int = 0) = delete;
  ~CudaRealExecutor();
  CudaRealExecutor(const CudaRealExecutor&) = delete;
  CudaRealExecutor& operator=(const CudaRealExecutor&) = delete;

  // Takes device memory for runs of so many pictures. Throws Error (exit code 3)
  // where there is too little.
  void reserve(std::int64_t pictures);

  // As RealExecutor::run(), and reserve() before it. Not for several threads at once.
  Tensor run(const Tensor& input, const OnTensor& on_tensor = {});

  // The kernel that computes each layer: "tile_products".
  std::vector<std::string> kernels() const;

  // Median over `runs` of the seconds that the layers and rules of the last run() take on the
  // device, by CUDA events; without copies to and from the host.
  double time_network(int runs);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qsim::golden
