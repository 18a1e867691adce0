#include "golden/graph/cuda/graph_executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/median.h"
#include "golden/device/cuda_error.h"
#include "golden/device/devices.h"
#include "golden/graph/cuda/device_network.h"

namespace qsim::golden {
namespace {

using cuda::check;

constexpr std::size_t kStagingBytes = std::size_t{64} << 20;
constexpr int kWarmUpReplays = 3;
constexpr double kShortestMeasurement = 1e-3;  // seconds; events resolve about half a microsecond
constexpr int kMostLaunches = 1000;            // of one kernel in one measurement

void check_input(const Graph& graph, const Tensor& input) {
  const Shape expected = graph.input_value().shape.nhwc();
  if (input.dtype == graph.input_value().dtype && input.shape == expected) return;
  throw_bad_input("input is " + std::string(dtype_name(input.dtype)) + " " +
                  shape_text(input.shape) + "; graph '" + graph.name + "' reads " +
                  std::string(dtype_name(graph.input_value().dtype)) + " " + shape_text(expected));
}

std::int64_t free_device_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  return static_cast<std::int64_t>(free);
}

const Graph& validated(const Graph& graph) {
  validate(graph);
  QSIM_CHECK(!graph.is_real(), graph.name + ": a float network has no integers");
  return graph;
}

}  // namespace

// Members in the order of their making: the network's memory is allocated on the device chosen, and
// `free_before_` is read before it.
class CudaGraphExecutor::Impl {
 public:
  Impl(const Graph& graph, const CudaOptions& options)
      : graph_(validated(graph)),
        keep_(options.keep),
        device_(use_device(options.device)),
        free_before_(free_device_bytes()),
        network_(graph, options, device_),
        device_bytes_(std::max(free_before_ - free_device_bytes(), network_.activation_bytes())),
        staging_(std::min(kStagingBytes, largest_copy())) {}

  std::vector<Tensor> run(const Tensor& input) {
    check_input(graph_, input);
    make_current();
    copy_in(input);
    if (replay_.is_empty()) {
      // Also loads each kernel's code, which must not happen during a capture.
      network_.launch_step_by_step(stream_);
      replay_ = cuda::CapturedGraph(stream_, [this] { network_.launch(stream_); });
    }
    replay_.replay(stream_);
    stream_.synchronize("running the network");
    return copy_out();
  }

  double time_network(int runs) {
    QSIM_CHECK(!replay_.is_empty(), "time_network before the first run");
    make_current();
    cuda::time_replays(stream_, replay_, kWarmUpReplays);
    return median(cuda::time_replays(stream_, replay_, runs));
  }

  std::vector<CudaKernelTime> time_kernels(int runs) {
    QSIM_CHECK(!replay_.is_empty(), "time_kernels before the first run");
    make_current();
    std::vector<CudaKernelTime> times;
    for (std::size_t i = 0; i < network_.steps().size(); ++i) {
      const cuda::Step& step = network_.steps()[i];
      times.push_back({cuda::layer_names(graph_, step), network_.kernel(i).name(),
                       cuda::step_macs(graph_, step),
                       cuda::step_bytes(graph_, step) + network_.kernel(i).inner_bytes(),
                       time_kernel(network_.kernel(i), runs)});
    }
    return times;
  }

  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < network_.steps().size(); ++i) {
      names.push_back(network_.kernel(i).name());
    }
    return names;
  }

  std::int64_t device_bytes() const { return device_bytes_; }

 private:
  void make_current() const { check(cudaSetDevice(device_.index), "choosing the device"); }

  std::size_t largest_copy() const {
    std::size_t bytes = network_.input_bytes();
    for (const cuda::Step& step : network_.steps()) {
      bytes = std::max(bytes, static_cast<std::size_t>(element_count(step.result.shape.nhwc())));
    }
    return bytes;
  }

  void copy_in(const Tensor& input) {
    for (std::size_t at = 0; at < input.bytes.size(); at += staging_.bytes()) {
      const std::size_t bytes = std::min(staging_.bytes(), input.bytes.size() - at);
      std::memcpy(staging_.data(), input.bytes.data() + at, bytes);
      check(cudaMemcpyAsync(network_.input() + at, staging_.data(), bytes, cudaMemcpyHostToDevice,
                            stream_.get()),
            "copying the input");
      stream_.synchronize("copying the input");
    }
  }

  void copy_out(const std::uint8_t* from, Tensor& to) {
    for (std::size_t at = 0; at < to.bytes.size(); at += staging_.bytes()) {
      const std::size_t bytes = std::min(staging_.bytes(), to.bytes.size() - at);
      check(
          cudaMemcpyAsync(staging_.data(), from + at, bytes, cudaMemcpyDeviceToHost, stream_.get()),
          "copying an ofmap");
      stream_.synchronize("copying an ofmap");
      std::memcpy(to.bytes.data() + at, staging_.data(), bytes);
    }
  }

  std::vector<Tensor> copy_out() {
    std::vector<Tensor> ofmaps(graph_.layers.size());
    const std::size_t steps = network_.steps().size();
    for (std::size_t i = keep_ == CudaKeep::kLast ? steps - 1 : 0; i < steps; ++i) {
      const cuda::Step& step = network_.steps()[i];
      ofmaps[step.last()] = Tensor(step.result.dtype, step.result.shape.nhwc());
      copy_out(network_.output(i), ofmaps[step.last()]);
    }
    return ofmaps;
  }

  cuda::CapturedGraph launches(const cuda::Kernel& kernel, int count) const {
    return cuda::CapturedGraph(stream_, [&] {
      for (int i = 0; i < count; ++i) kernel.launch(stream_.get());
    });
  }

  // Seconds of one launch. Many in a row make one measurement, as one is too short to be measured.
  double time_kernel(const cuda::Kernel& kernel, int runs) const {
    const double one = median(cuda::time_replays(stream_, launches(kernel, 1), kWarmUpReplays));
    const int count = std::clamp(
        static_cast<int>(std::ceil(kShortestMeasurement / std::max(one, 1e-7))), 1, kMostLaunches);
    const cuda::CapturedGraph many = launches(kernel, count);
    cuda::time_replays(stream_, many, 1);
    return median(cuda::time_replays(stream_, many, runs)) / count;
  }

  const Graph& graph_;
  CudaKeep keep_;
  const CudaDevice& device_;
  std::int64_t free_before_;
  cuda::DeviceNetwork network_;
  std::int64_t device_bytes_;
  cuda::PinnedBuffer staging_;
  cuda::Stream stream_;
  cuda::CapturedGraph replay_;
};

CudaGraphExecutor::CudaGraphExecutor(const Graph& graph, const CudaOptions& options)
    : impl_(std::make_unique<Impl>(graph, options)) {}
CudaGraphExecutor::~CudaGraphExecutor() = default;

std::vector<Tensor> CudaGraphExecutor::run(const Tensor& input) { return impl_->run(input); }
double CudaGraphExecutor::time_network(int runs) { return impl_->time_network(runs); }
std::vector<CudaKernelTime> CudaGraphExecutor::time_kernels(int runs) {
  return impl_->time_kernels(runs);
}
std::vector<std::string> CudaGraphExecutor::kernels() const { return impl_->kernels(); }
std::int64_t CudaGraphExecutor::device_bytes() const { return impl_->device_bytes(); }

}  // namespace qsim::golden
