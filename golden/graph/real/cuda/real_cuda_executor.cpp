#include "golden/graph/real/cuda/real_cuda_executor.h"

#include <algorithm>
#include <cstring>

#include "core/base/median.h"
#include "golden/common/buffer_plan.h"
#include "golden/device/cuda_error.h"
#include "golden/device/devices.h"
#include "golden/device/stream.h"
#include "golden/graph/real/cuda/device_rule.h"
#include "golden/graph/real/cuda/real_step.h"
#include "golden/graph/real/executor_checks.h"

namespace qsim::golden {
namespace {

using cuda::check;

constexpr std::size_t kStagingBytes = std::size_t{64} << 20;
constexpr int kWarmUpRuns = 3;

std::int64_t elems_of_one(ImageShape shape) {
  shape.batch = 1;
  return element_count(shape.nhwc());
}

std::size_t float_bytes(std::int64_t elems) {
  return static_cast<std::size_t>(elems) * sizeof(float);
}

const Graph& checked(const Graph& graph, const RealExecutorOptions& options) {
  check_executor(graph, options);
  return graph;
}

BufferPlan plan_of(const Graph& graph) {
  std::vector<StepTensors> steps;
  for (const Layer& layer : graph.layers) steps.push_back({layer.inputs, layer.output});
  return plan_buffers(steps);
}

}  // namespace

// The weights are there from the making on; memory of activations is taken for the largest batch so
// far.
class CudaRealExecutor::Impl {
 public:
  Impl(const Graph& graph, const RealExecutorOptions& options, int device)
      : graph_(checked(graph, options)),
        device_(use_device(device)),
        plan_(plan_of(graph)),
        data_of_(graph.tensors.size(), nullptr),
        rules_(graph.tensors.size()) {
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      steps_.push_back(make_step(i, options.layer_weights));
    }
    for (TensorId id = 0; id < options.rules.size(); ++id) {
      if (options.rules[id]) rules_[id].emplace(*options.rules[id]);
    }
    // Copies from pageable memory may return before the device has the bytes.
    check(cudaDeviceSynchronize(), "uploading the weights");
  }

  void reserve(std::int64_t pictures) {
    check(cudaSetDevice(device_.index), "choosing the device");
    if (pictures > capacity_) take_memory(pictures);
  }

  Tensor run(const Tensor& input, const OnTensor& on_tensor) {
    check_input(graph_, input);
    reserve(input.shape[0]);
    pictures_ = input.shape[0];
    copy_in(input);
    apply_rule(graph_.input);
    report(graph_.input, on_tensor);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      launch(i);
      report(graph_.layers[i].output, on_tensor);
    }
    return copy_out(graph_.output);
  }

  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    for (const auto& step : steps_) names.push_back(step->kernel());
    return names;
  }

  double time_network(int runs) {
    QSIM_CHECK(pictures_ > 0, "time_network before the first run");
    check(cudaSetDevice(device_.index), "choosing the device");
    const cuda::CapturedGraph replay(stream_, [this] {
      apply_rule(graph_.input);
      for (std::size_t i = 0; i < steps_.size(); ++i) launch(i);
    });
    cuda::time_replays(stream_, replay, kWarmUpRuns);
    return median(cuda::time_replays(stream_, replay, runs));
  }

 private:
  std::unique_ptr<cuda::RealStep> make_step(
      std::size_t index, const std::map<std::size_t, RealLayerWeights>& integers) const {
    const Layer& layer = graph_.layers[index];
    const bool has_weights = std::holds_alternative<Conv2d>(layer.operation) ||
                             std::holds_alternative<FullyConnected>(layer.operation);
    if (!has_weights) return cuda::make_data_step(graph_, layer);
    const auto found = integers.find(index);
    return cuda::make_product_step(graph_, layer,
                                   found == integers.end() ? nullptr : &found->second);
  }

  void take_memory(std::int64_t pictures) {
    capacity_ = 0;  // if there is too little, the next run asks again
    stream_.synchronize("ending the last run");
    buffers_.clear();
    const std::int64_t input = elems_of_one(graph_.input_shape());
    std::vector<std::int64_t> elems(plan_.count, 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::int64_t& most = elems[plan_.buffers[i]];
      most = std::max(most, elems_of_one(graph_.tensors[graph_.layers[i].output].shape));
    }
    for (const std::int64_t of_one : elems) {
      buffers_.push_back(cuda::poisoned(float_bytes(pictures * of_one)));
    }
    buffers_.push_back(cuda::poisoned(float_bytes(pictures * input)));
    data_of_[graph_.input] = buffers_.back().as<float>();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      data_of_[graph_.layers[i].output] = buffers_[plan_.buffers[i]].as<float>();
      steps_[i]->reserve(pictures);
    }
    for (std::optional<cuda::DeviceRule>& rule : rules_) {
      if (rule) rule->reserve(pictures);
    }
    // The stream does not wait for the default one, which fills new buffers.
    check(cudaDeviceSynchronize(), "taking memory");
    capacity_ = pictures;
  }

  void launch(std::size_t index) const {
    const Layer& layer = graph_.layers[index];
    std::vector<const float*> operands;
    for (const TensorId id : layer.inputs) operands.push_back(data_of_[id]);
    steps_[index]->launch(operands, data_of_[layer.output], pictures_, stream_.get());
    apply_rule(layer.output);
  }

  void apply_rule(TensorId id) const {
    if (!rules_[id]) return;
    rules_[id]->launch(data_of_[id], pictures_, elems_of_one(graph_.tensors[id].shape),
                       stream_.get());
  }

  void report(TensorId id, const OnTensor& on_tensor) {
    if (on_tensor) on_tensor(id, copy_out(id));
  }

  // Calls copy(first byte, bytes) for parts that the pinned memory has room for.
  template <typename Copy>
  void in_parts(std::size_t bytes, Copy copy) {
    if (staging_.bytes() < std::min(bytes, kStagingBytes)) {
      staging_ = cuda::PinnedBuffer(std::min(bytes, kStagingBytes));
    }
    for (std::size_t at = 0; at < bytes; at += staging_.bytes()) {
      copy(at, std::min(staging_.bytes(), bytes - at));
    }
  }

  void copy_in(const Tensor& input) {
    auto* to = reinterpret_cast<std::byte*>(data_of_[graph_.input]);
    in_parts(input.bytes.size(), [&](std::size_t at, std::size_t bytes) {
      std::memcpy(staging_.data(), input.bytes.data() + at, bytes);
      check(cudaMemcpyAsync(to + at, staging_.data(), bytes, cudaMemcpyHostToDevice, stream_.get()),
            "copying the input");
      stream_.synchronize("copying the input");
    });
  }

  Tensor copy_out(TensorId id) {
    ImageShape shape = graph_.tensors[id].shape;
    shape.batch = pictures_;
    Tensor tensor(DType::kFloat32, shape.nhwc());
    const auto* from = reinterpret_cast<const std::byte*>(data_of_[id]);
    in_parts(tensor.bytes.size(), [&](std::size_t at, std::size_t bytes) {
      check(
          cudaMemcpyAsync(staging_.data(), from + at, bytes, cudaMemcpyDeviceToHost, stream_.get()),
          "copying a tensor");
      stream_.synchronize("running the network");
      std::memcpy(tensor.bytes.data() + at, staging_.data(), bytes);
    });
    return tensor;
  }

  const Graph& graph_;
  const CudaDevice& device_;
  BufferPlan plan_;
  std::int64_t pictures_ = 0;  // of the last run
  std::int64_t capacity_ = 0;
  std::vector<cuda::DeviceBuffer> buffers_;  // those of the plan, then the input's
  std::vector<float*> data_of_;              // by tensor
  std::vector<std::unique_ptr<cuda::RealStep>> steps_;
  std::vector<std::optional<cuda::DeviceRule>> rules_;
  cuda::PinnedBuffer staging_;
  cuda::Stream stream_;
};

CudaRealExecutor::CudaRealExecutor(const Graph& graph, const RealExecutorOptions& options,
                                   int device)
    : impl_(std::make_unique<Impl>(graph, options, device)) {}
CudaRealExecutor::~CudaRealExecutor() = default;

void CudaRealExecutor::reserve(std::int64_t pictures) { impl_->reserve(pictures); }
Tensor CudaRealExecutor::run(const Tensor& input, const OnTensor& on_tensor) {
  return impl_->run(input, on_tensor);
}
std::vector<std::string> CudaRealExecutor::kernels() const { return impl_->kernels(); }
double CudaRealExecutor::time_network(int runs) { return impl_->time_network(runs); }

}  // namespace qsim::golden
