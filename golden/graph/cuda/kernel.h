// One step of a network on the device, made ready to run: weights resident, addresses fixed.
#pragma once

#include <cstdint>
#include <string>

#include <cuda_runtime.h>

namespace qsim::golden::cuda {

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Enqueues on `stream` and returns; never synchronises, so that a CUDA graph can capture it.
  // Throws Error when the launch is refused.
  virtual void launch(cudaStream_t stream) const = 0;
  // Bytes of activations that it writes and reads again inside; 0 for one pass.
  virtual std::int64_t inner_bytes() const { return 0; }
  // Family and shape of the tile: "conv_mma 128x64".
  virtual std::string name() const = 0;
};

}  // namespace qsim::golden::cuda
