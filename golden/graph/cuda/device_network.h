// A planned graph on the current device: activations, weights and kernels, with every address
// fixed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/device/stream.h"
#include "golden/graph/cuda/kernel.h"
#include "golden/graph/cuda/layer_plan.h"

namespace qsim::golden::cuda {

class DeviceNetwork {
 public:
  // Uploads the weights; returns when the device has them. `graph` must be valid and outlive this.
  // Activations start as 0xA5, so that a byte that no kernel writes shows.
  DeviceNetwork(const Graph& graph, const CudaOptions& options, const CudaDevice& device);

  const std::vector<Step>& steps() const { return steps_; }
  const Kernel& kernel(std::size_t step) const { return *kernels_[step]; }
  std::uint8_t* input() const { return input_.as(); }
  std::size_t input_bytes() const { return input_.bytes(); }
  // Where step `step` writes. With kLast steps share buffers: only the last step's bytes last.
  std::uint8_t* output(std::size_t step) const { return buffers_[buffer_of_[step]].as(); }

  // Enqueues every step.
  void launch(const Stream& stream) const;
  // The same, waiting for each step: an error names its layers and its kernel.
  void launch_step_by_step(const Stream& stream) const;

  std::int64_t activation_bytes() const;

 private:
  void allocate(CudaKeep keep);
  std::unique_ptr<Kernel> make_kernel(std::size_t index, const CudaOptions& options,
                                      const CudaDevice& device) const;
  std::unique_ptr<Kernel> make_conv_kernel(std::size_t index, const CudaOptions& options,
                                           const CudaDevice& device) const;

  const Graph& graph_;
  std::vector<Step> steps_;
  DeviceBuffer input_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::size_t> buffer_of_;        // by step
  std::vector<const std::uint8_t*> data_of_;  // by tensor; nullptr for one inside a step
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace qsim::golden::cuda
