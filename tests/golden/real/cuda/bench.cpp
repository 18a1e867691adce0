#include <array>
#include <chrono>
#include <cmath>
#include <iostream>

#include "golden/graph/real/cuda/real_cuda_executor.h"
#include "tests/golden/real/cuda/check_commands.h"
#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden_test {
namespace {

constexpr std::array<std::int64_t, 3> kBatches = {32, 256, 1024};
constexpr std::int64_t kCompared = 8;  // pictures

// Weights that keep the sizes of activations from layer to layer.
Tensor scaled_floats(Random& random, Shape shape) {
  const std::int64_t products = element_count(shape) / shape[0];
  const float size = std::sqrt(static_cast<float>(products));
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) {
    value = static_cast<float>(random.uniform(-1000, 1000)) / 400.0F / size;
  }
  return tensor;
}

// VGG-8 as models/vgg8-cifar10 has it.
class Vgg8 {
 public:
  Vgg8() {
    graph_.name = "vgg8 in float";
    graph_.input_value() = real_value({1, 32, 32, 3});
    conv(64, true);
    conv(192, true);
    conv(384, false);
    conv(256, false);
    conv(256, true);
    const ImageShape last = graph_.output_shape();
    append(graph_, "flatten", Flatten{},
           real_value({1, 1, 1, last.height * last.width * last.channels}));
    linear(256, true);
    linear(128, true);
    linear(10, false);
  }
  const Graph& graph() const { return graph_; }

 private:
  void relu() {
    append(graph_, "relu" + std::to_string(graph_.layers.size()), Activation{},
           graph_.output_value());
  }

  void conv(std::int64_t outputs, bool has_pool) {
    ImageShape shape = graph_.output_shape();
    const Window window{
        .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
    Conv2d conv{window, scaled_floats(random_, {outputs, 3, 3, shape.channels}),
                golden::random_floats(random_, {outputs})};
    shape.channels = outputs;
    const std::string number = std::to_string(graph_.layers.size());
    append(graph_, "conv" + number, std::move(conv), real_value(shape));
    relu();
    if (!has_pool) return;
    shape.height /= 2;
    shape.width /= 2;
    append(graph_, "pool" + number,
           MaxPool{{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2}},
           real_value(shape));
  }

  void linear(std::int64_t outputs, bool has_relu) {
    const std::int64_t inputs = graph_.output_shape().channels;
    append(graph_, "fc" + std::to_string(graph_.layers.size()),
           FullyConnected{scaled_floats(random_, {outputs, inputs}),
                          golden::random_floats(random_, {outputs})},
           real_value({1, 1, 1, outputs}));
    if (has_relu) relu();
  }

  Random random_{1};
  Graph graph_;
};

double seconds_of(golden::CudaRealExecutor& gpu, const Tensor& input) {
  const auto begin = std::chrono::steady_clock::now();
  gpu.run(input);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

ExitCode bench_real(int runs) {
  const Vgg8 network;
  golden::CudaRealExecutor gpu(network.graph());
  Random random(2);
  const Tensor few = golden::random_floats(random, {kCompared, 32, 32, 3});
  golden::ThreadTeam team(0);
  if (gpu.run(few) != golden::RealExecutor(network.graph()).run(few, team)) {
    std::cout << "VGG-8 in float differs from the CPU\n";
    return ExitCode::kMismatch;
  }
  for (const std::int64_t batch : kBatches) {
    const Tensor input = golden::random_floats(random, {batch, 32, 32, 3});
    gpu.run(input);
    const double whole = seconds_of(gpu, input);
    const double kernels = gpu.time_network(runs);
    std::cout << "VGG-8 in float, batch " << batch << ": kernels " << kernels * 1e3
              << " ms, with copies " << whole * 1e3 << " ms, "
              << static_cast<std::int64_t>(static_cast<double>(batch) / kernels)
              << " pictures/s of kernels, "
              << static_cast<double>(batch) * 2 * 168'002'816 / kernels / 1e12 << " TFLOP/s\n";
  }
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
