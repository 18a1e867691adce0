// real_bench [--figures]
// VGG-8 in float32 on one thread by vector path, a batch of pictures at a time, beside the time of
// its multiply-adds between registers; both in CPU time and in turn, so that their ratio holds on a
// busy machine too. Without --figures also each layer, rules and integer weights, and the wall time
// with all threads.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "bench/real/multiply_add_peak.h"
#include "core/random.h"
#include "golden/real/real_executor.h"

namespace qsim {
namespace {

constexpr int kRuns = 9;
constexpr std::int64_t kPictures = 32;
constexpr std::int64_t kWholeSet = 3000;

// Numbers like a trained layer's: a sum of `depth` products keeps the size of the inputs.
Tensor random_tensor(Random& random, Shape shape, std::int64_t depth) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  const float unit = 1e-4F / std::sqrt(static_cast<float>(depth));
  for (float& value : tensor.as<float>()) {
    value = static_cast<float>(random.uniform(-17000, 17000)) * unit;
  }
  return tensor;
}

class Network {
 public:
  Network() {
    graph.name = "vgg8";
    graph.tensors[0] = {1, 32, 32, 3};
    conv(64, true);
    conv(192, true);
    conv(384, false);
    conv(256, false);
    conv(256, true);
    append(graph, "flatten", RealFlatten{}, {graph.output}, {1, 1, 1, 4096});
    linear(256);
    linear(128);
    linear(10);
  }

  RealGraph graph;
  double macs = 0;  // of a picture

 private:
  const ImageShape& last() const { return graph.output_shape(); }

  void relu(const ImageShape& shape) {
    append(graph, "relu" + std::to_string(graph.layers.size()), RealActivation{}, {graph.output},
           shape);
  }

  void conv(std::int64_t outputs, bool pools) {
    RealConv2d layer;
    layer.window = {
        .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
    const ImageShape in = last();
    ImageShape out = {1, in.height, in.width, outputs};
    layer.weights = random_tensor(random_, {outputs, 3, 3, in.channels}, 9 * in.channels);
    layer.bias = random_tensor(random_, {outputs}, 1);
    macs += static_cast<double>(layer.weights.elems() * in.height * in.width);
    append(graph, "conv" + std::to_string(graph.layers.size()), layer, {graph.output}, out);
    relu(out);
    if (!pools) return;
    const Window window = {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
    out.height /= 2;
    out.width /= 2;
    append(graph, "pool" + std::to_string(graph.layers.size()), RealMaxPool{window}, {graph.output},
           out);
  }

  void linear(std::int64_t outputs) {
    RealLinear layer;
    const std::int64_t inputs = last().channels;
    layer.weights = random_tensor(random_, {outputs, inputs}, inputs);
    layer.bias = random_tensor(random_, {outputs}, 1);
    macs += static_cast<double>(layer.weights.elems());
    append(graph, "fc" + std::to_string(graph.layers.size()), layer, {graph.output},
           {1, 1, 1, outputs});
    if (outputs > 10) relu({1, 1, 1, outputs});
  }

  Random random_{1};
};

Tensor pictures(std::int64_t count) {
  Random random(2);
  return random_tensor(random, {count, 32, 32, 3}, 1);
}

void measure(const Network& network, golden::VectorPath path, bool figures) {
  const golden::RealExecutor executor(network.graph, {.vector_path = path});
  golden::ThreadTeam team(1);
  const Tensor input = pictures(kPictures);
  executor.run(input, team);
  std::vector<double> seconds;
  std::vector<double> shares;
  for (int run = 0; run < kRuns; ++run) {
    seconds.push_back(bench::cpu_seconds_of([&] { executor.run(input, team); }) /
                      static_cast<double>(kPictures));
    const double peak = bench::multiply_add_peak(path).value_or(0);
    if (peak > 0) shares.push_back(seconds.back() * peak / network.macs);
  }
  const std::string name = "real/" + std::string(golden::vector_path_name(path)) + "/vgg8";
  const bench::Figure time = bench::time_figure(name, seconds);
  const bench::Figure ratio =
      bench::median_figure(name + "_over_limit", shares, "1", bench::Kind::kRatio);
  if (figures) {
    bench::print_figure(time);
    bench::print_figure(ratio);
    return;
  }
  std::printf("%-12s %7.3f ms a picture, %5.1f%% of %s (%.0f G multiply-adds/s)\n",
              std::string(golden::vector_path_name(path)).c_str(), time.value * 1e3,
              100 / ratio.value, std::string(bench::multiply_add_instruction(path)).c_str(),
              ratio.value * network.macs / time.value * 1e-9);
}

void print_layers(const Network& network) {
  const golden::RealExecutor executor(network.graph);
  golden::ThreadTeam team(1);
  const Tensor input = pictures(kPictures);
  std::vector<double> least(network.graph.layers.size() + 1, 1e9);
  for (int run = 0; run < kRuns; ++run) {
    double begin = bench::cpu_seconds();
    std::size_t at = 0;
    executor.run(input, team, [&](TensorId, const Tensor&) {
      const double now = bench::cpu_seconds();
      least[at] = std::min(least[at], now - begin);
      ++at;
      begin = now;
    });
  }
  for (std::size_t i = 0; i < network.graph.layers.size(); ++i) {
    std::printf("  %-10s %8.4f ms a picture\n", network.graph.layers[i].name.c_str(),
                least[i + 1] * 1e3 / static_cast<double>(kPictures));
  }
}

void print_time(const Network& network, const char* what,
                const golden::RealExecutorOptions& options) {
  const golden::RealExecutor executor(network.graph, options);
  golden::ThreadTeam team(1);
  const Tensor input = pictures(kPictures);
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    least = std::min(least, bench::cpu_seconds_of([&] { executor.run(input, team); }));
  }
  std::printf("  %-32s %7.3f ms a picture\n", what, least * 1e3 / static_cast<double>(kPictures));
}

using LayerWeights = std::map<std::size_t, golden::RealLayerWeights>;

// Each layer's weights as integers of 8 bits, or as powers of two of 4 bits.
LayerWeights integer_weights(const RealGraph& graph, bool log2,
                             const std::optional<golden::InputRule>& input) {
  Random random(3);
  LayerWeights result;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const auto* conv = std::get_if<RealConv2d>(&graph.layers[i].operation);
    const auto* linear = std::get_if<RealLinear>(&graph.layers[i].operation);
    if (conv == nullptr && linear == nullptr) continue;
    Tensor levels(DType::kInt8, conv != nullptr ? conv->weights.shape : linear->weights.shape);
    for (std::int8_t& level : levels.as<std::int8_t>()) {
      level =
          static_cast<std::int8_t>(log2 ? 1 << random.uniform(0, 6) : random.uniform(-127, 127));
    }
    if (log2) {
      result[i] = {golden::log2_weights(levels, {0.001F}), input};
    } else {
      result[i] = {golden::IntegerWeights{levels, {0.001F}}, input};
    }
  }
  return result;
}

void print_modes(const Network& network) {
  const RealGraph& graph = network.graph;
  const golden::DynamicRule dynamic;
  const auto ruled = [&](const golden::TensorRule& rule) {
    golden::RealExecutorOptions options;
    options.rules.assign(graph.tensors.size(), rule);
    return options;
  };
  using Format = golden::FloatRule::Format;
  print_time(network, "float32", {});
  print_time(network, "uniform rules", ruled(golden::UniformRule{0.01F}));
  print_time(network, "dynamic rules", ruled(dynamic));
  print_time(network, "E4M3 rules", ruled(golden::FloatRule{Format::kE4m3}));
  print_time(network, "bfloat16 rules", ruled(golden::FloatRule{Format::kBfloat16}));
  print_time(network, "log2 rules", ruled(golden::Log2Rule{}));
  print_time(network, "weight-only", {.layer_weights = integer_weights(graph, false, {})});
  print_time(network, "dynamic", {.layer_weights = integer_weights(graph, false, dynamic)});
  print_time(network, "log2 weights, dynamic input",
             {.layer_weights = integer_weights(graph, true, dynamic)});
}

void print_whole_set(const Network& network) {
  const golden::RealExecutor executor(network.graph);
  golden::ThreadTeam team(0);
  const Tensor input = pictures(kPictures);
  executor.run(input, team);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t done = 0; done < kWholeSet; done += kPictures) executor.run(input, team);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("%lld pictures on %d threads: %.2f s\n", static_cast<long long>(kWholeSet),
              team.threads(), wall.count());
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  const qsim::Network network;
  for (const qsim::golden::VectorPath path : qsim::golden::kVectorPaths) {
    const bool known = !qsim::bench::multiply_add_instruction(path).empty();
    if (known && qsim::golden::is_available(path)) qsim::measure(network, path, figures);
  }
  if (figures) return 0;
  qsim::print_layers(network);
  qsim::print_modes(network);
  qsim::print_whole_set(network);
}
