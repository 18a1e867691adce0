#include "golden/graph/cuda/device_network.h"

#include <algorithm>
#include <numeric>

#include "golden/device/cuda_error.h"
#include "golden/graph/cuda/kernel_choice.h"

namespace qsim::golden::cuda {
namespace {

// Activations are one byte an element.
std::size_t bytes_of(const Value& value) {
  return static_cast<std::size_t>(element_count(value.shape.nhwc()));
}

ConvTask conv_task(const Graph& graph, const Step& step) {
  ConvTask task;
  task.input = step.input;
  task.ofmap = step.ofmap;
  task.window = step.window;
  task.groups = step.groups;
  task.weight_parts = step.weight_parts;
  task.weights = weights_of(graph, step).data();
  task.bias = bias_of(graph, step).data();
  task.requantization = step.requantization;
  task.pool = step.pool;
  task.addition = step.addition;
  return task;
}

}  // namespace

DeviceNetwork::DeviceNetwork(const Graph& graph, const CudaOptions& options,
                             const CudaDevice& device)
    : graph_(graph), steps_(plan_layers(graph, options.keep)) {
  allocate(options.keep);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    kernels_.push_back(make_kernel(i, options, device));
  }
  // Copies from pageable memory may return before the device has the bytes, and the kernels' stream
  // does not wait for the default one.
  check(cudaDeviceSynchronize(), "uploading the weights");
}

void DeviceNetwork::allocate(CudaKeep keep) {
  input_ = poisoned(bytes_of(graph_.input_value()));
  buffer_of_ = plan_buffers(step_tensors(steps_)).buffers;
  if (keep != CudaKeep::kLast) std::iota(buffer_of_.begin(), buffer_of_.end(), 0);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    sizes.resize(std::max(sizes.size(), buffer_of_[i] + 1), 0);
    std::size_t& size = sizes[buffer_of_[i]];
    size = std::max(size, bytes_of(steps_[i].result));
  }
  for (const std::size_t bytes : sizes) buffers_.push_back(poisoned(bytes));
  data_of_.resize(graph_.tensors.size(), nullptr);
  data_of_[graph_.input] = input();
  for (std::size_t i = 0; i < steps_.size(); ++i) data_of_[steps_[i].output] = output(i);
}

std::unique_ptr<Kernel> DeviceNetwork::make_conv_kernel(std::size_t index,
                                                        const CudaOptions& options,
                                                        const CudaDevice& device) const {
  const Step& step = steps_[index];
  ConvTask task = conv_task(graph_, step);
  task.input_data = data_of_[step.inputs[0]];
  if (task.addition) task.other_data = data_of_[step.inputs[1]];
  task.output_data = output(index);
  task.choices = options.choices;
  task.multiprocessors =
      task.choices.multiprocessors > 0 ? task.choices.multiprocessors : device.multiprocessors;
  return make_conv(task, options.path, device);
}

std::unique_ptr<Kernel> DeviceNetwork::make_kernel(std::size_t index, const CudaOptions& options,
                                                   const CudaDevice& device) const {
  const Step& step = steps_[index];
  const Value& made = graph_.output_of(step.first());  // a flatten may follow
  const std::uint8_t* from = data_of_[step.inputs[0]];
  std::uint8_t* to = output(index);
  switch (step.kind) {
    case StepKind::kConv:
      return make_conv_kernel(index, options, device);
    case StepKind::kMaxPool:
      return make_max_pool({step.input, made, step.window, from, to});
    case StepKind::kAveragePool:
      return make_average_pool({step.average, step.input, made, from, to});
    case StepKind::kRelu:
      return make_relu({made, from, to});
    case StepKind::kFlatten:
      return make_flatten({step.input, step.order, from, to});
    case StepKind::kAdd:
      return make_add({step.add, step.input, graph_.tensors[step.inputs[1]], made, from,
                       data_of_[step.inputs[1]], to});
    case StepKind::kConcat: {
      ConcatTask task{{}, made, {}, to};
      for (const TensorId id : step.inputs) {
        task.channels.push_back(graph_.tensors[id].shape.channels);
        task.input_data.push_back(data_of_[id]);
      }
      return make_concat(task);
    }
    case StepKind::kLookupTable: {
      const auto& table = std::get<LookupTable>(graph_.layers[step.first()].operation);
      return make_lookup({table.bytes, element_count(made.shape.nhwc()), from, to});
    }
    case StepKind::kPRelu: {
      const auto& prelu = std::get<PRelu>(graph_.layers[step.first()].operation);
      return make_prelu(
          {tables_of(prelu, step.input, made), element_count(made.shape.nhwc()), from, to});
    }
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
  for (const DeviceBuffer& buffer : buffers_) bytes += buffer.bytes();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace qsim::golden::cuda
