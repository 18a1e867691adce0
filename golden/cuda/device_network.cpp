#include "golden/cuda/device_network.h"

#include <algorithm>

#include "golden/cuda/cuda_error.h"
#include "golden/cuda/kernel_choice.h"

namespace qsim::golden::cuda {
namespace {

// Activations are one byte an element.
std::size_t bytes_of(const Value& value) {
  return static_cast<std::size_t>(element_count(value.shape.nhwc()));
}

ConvTask conv_task(const Graph& graph, const Step& step, const CudaDevice& device) {
  ConvTask task;
  task.input = step.input;
  task.ofmap = step.ofmap;
  task.window = step.window;
  task.weights = weights_of(graph, step).data();
  task.bias = bias_of(graph, step).data();
  task.requantization = step.requantization;
  task.pool = step.pool;
  task.multiprocessors = device.multiprocessors;
  return task;
}

}  // namespace

DeviceNetwork::DeviceNetwork(const Graph& graph, const CudaOptions& options,
                             const CudaDevice& device)
    : graph_(graph), steps_(plan_layers(graph, options.keep)) {
  allocate(options.keep);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    kernels_.push_back(make_kernel(i, options.path, device));
  }
  // Copies from pageable memory may return before the device has the bytes, and the kernels' stream
  // does not wait for the default one.
  check(cudaDeviceSynchronize(), "uploading the weights");
}

void DeviceNetwork::allocate(CudaKeep keep) {
  input_ = poisoned(bytes_of(graph_.input_value()));
  if (keep != CudaKeep::kLast) {
    for (const Step& step : steps_) outputs_.push_back(poisoned(bytes_of(step.output)));
    return;
  }
  std::size_t turns[2] = {0, 0};
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    turns[i % 2] = std::max(turns[i % 2], bytes_of(steps_[i].output));
  }
  for (const std::size_t bytes : turns)
    outputs_.push_back(poisoned(std::max<std::size_t>(bytes, 1)));
}

std::unique_ptr<Kernel> DeviceNetwork::make_kernel(std::size_t index, CudaPath path,
                                                   const CudaDevice& device) const {
  const Step& step = steps_[index];
  const std::uint8_t* from = index == 0 ? input() : output(index - 1);
  std::uint8_t* to = output(index);
  switch (step.kind) {
    case StepKind::kConv: {
      ConvTask task = conv_task(graph_, step, device);
      task.input_data = from;
      task.output_data = to;
      return make_conv(task, path, device);
    }
    case StepKind::kMaxPool:
      return make_max_pool({step.input, step.output, step.window, from, to});
    case StepKind::kRelu:
      return make_relu({step.output, from, to});
    case StepKind::kFlatten:
      return make_flatten({step.input, step.order, from, to});
  }
  throw InternalError("a step of no kind");
}

void DeviceNetwork::launch(const Stream& stream) const {
  for (const auto& kernel : kernels_) kernel->launch(stream.get());
}

void DeviceNetwork::launch_step_by_step(const Stream& stream) const {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i]->launch(stream.get());
    const std::string what = layer_names(graph_, steps_[i]) + " (" + kernels_[i]->name() + ")";
    stream.synchronize(what.c_str());
  }
}

std::int64_t DeviceNetwork::activation_bytes() const {
  std::size_t bytes = input_.bytes();
  for (const DeviceBuffer& buffer : outputs_) bytes += buffer.bytes();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace qsim::golden::cuda
