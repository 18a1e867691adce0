// Workload files: what they expand to, that a seed fixes every byte, and refusals.
#include "formats/workload/workload.h"

#include <sys/resource.h>

#include "formats/workload/synthetic_tensors.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

Workload load(const std::string& layers, const std::string& head = "") {
  const TemporaryFolder folder;
  const std::string start =
      head.empty() ? "seed: 5\ninput: {shape: [1, 9, 8, 3], dtype: int8}\n" : head;
  return load_workload(folder.file("w.yaml", start + "layers:\n" + layers));
}

std::string load_error(const std::string& layers, const std::string& head = "") {
  return error_of([&] { load(layers, head); });
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Layer& layer : graph.layers) {
    result.push_back(layer.name + ":" + std::string(operation_name(layer.operation)) +
                     shape_text(graph.tensors[layer.output].shape.nhwc()));
  }
  return result;
}

TEST(Workload, LayersExpandIntoTheGraphsOwn) {
  const Workload workload = load(
      "  - {op: conv2d, out_channels: 5, kernel: 3, pad: 1, relu: true}\n"
      "  - {op: max_pool, kernel: 2, ceil_mode: true}\n"
      "  - {op: conv2d, name: second, out_channels: 4, kernel: [2, 1], stride: [1, 2]}\n"
      "  - {op: relu}\n"
      "  - {op: flatten, order: hwc}\n"
      "  - {op: fully_connected, out_features: 7, relu: true}\n");
  EXPECT_EQ(
      names(workload.graph),
      (std::vector<std::string>{"conv1:conv2d[1, 9, 8, 5]", "conv1_relu:relu[1, 9, 8, 5]",
                                "pool1:max_pool[1, 5, 4, 5]", "second:conv2d[1, 4, 2, 4]",
                                "relu1:relu[1, 4, 2, 4]", "flatten1:flatten[1, 1, 1, 32]",
                                "fc1:fully_connected[1, 1, 1, 7]", "fc1_relu:relu[1, 1, 1, 7]"}));
  EXPECT_EQ(workload.graph.name, "w");
  EXPECT_EQ(std::get<Flatten>(workload.graph.layers[5].operation).order, Flatten::Order::kHwc);
  EXPECT_EQ(std::get<MaxPool>(workload.graph.layers[2].operation).window.stride_w, 2);
}

TEST(Workload, FieldsReachTheGraph) {
  const Workload workload = load(
      "  - {op: conv2d, out_channels: 5, kernel: 3, pad: [2, 1, 0, 1], rounding: half_up, "
      "per_channel_shift: true, dtype: uint8, zero_point: 200}\n"
      "  - {op: conv2d, out_channels: 2, kernel: 1, pad: [1, 0], shift: 3, bias_mean: 20}\n");
  const auto& first = std::get<Conv2d>(workload.graph.layers[0].operation);
  EXPECT_EQ(first.window, (Window{3, 3, 1, 1, 2, 1, 0, 1}));
  EXPECT_EQ(first.requantization.rounding, RoundingMode::kHalfUp);
  EXPECT_EQ(first.requantization.shifts.size(), 5u);
  EXPECT_EQ(workload.graph.output_of(0).dtype, DType::kUint8);
  EXPECT_EQ(workload.graph.output_of(0).zero_point, 200);
  const auto& second = std::get<Conv2d>(workload.graph.layers[1].operation);
  EXPECT_EQ(second.window, (Window{1, 1, 1, 1, 1, 0, 1, 0}));
  EXPECT_EQ(second.requantization.shifts, std::vector<std::uint8_t>{3});
  EXPECT_EQ(workload.graph.output_of(1).dtype, DType::kUint8);  // the input's
}

// It became a bias of 2^30 without a word.
TEST(Workload, ABiasMeanThatNoBiasReachesIsRefused) {
  expect_contains(
      load_error("  - {op: conv2d, out_channels: 2, kernel: 1, shift: 3, bias_mean: 1e300}\n"),
      "layer 'conv1': bias_mean 1e+300 with the shift 3 needs a bias of 8e+300; at most 2^30 is "
      "allowed");
  expect_contains(
      load_error("  - {op: conv2d, out_channels: 2, kernel: 1, shift: 20, bias_mean: -2000}\n"),
      "bias_mean -2000 with the shift 20 needs a bias of -2.09");
  load("  - {op: conv2d, out_channels: 2, kernel: 1, shift: 20, bias_mean: -900}\n");
}

// What the process may take while the object lives, so that a mistake does not take the machine's.
class DataLimit {
 public:
  explicit DataLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_DATA, &old_);
    [[maybe_unused]] const rlimit limit{bytes, old_.rlim_max};
#ifndef __SANITIZE_ADDRESS__  // whose shadow is beyond any limit
    ::setrlimit(RLIMIT_DATA, &limit);
#endif
  }
  ~DataLimit() { ::setrlimit(RLIMIT_DATA, &old_); }
  DataLimit(const DataLimit&) = delete;
  DataLimit& operator=(const DataLimit&) = delete;

 private:
  rlimit old_{};
};

// The second layer's ofmap, or all weights together: known before the first tensor is made, and so
// refused whatever the machine has.
TEST(Workload, WhatDoesNotFitIsRefusedBeforeAnythingIsDrawn) {
  const std::string wide = "input: {shape: [65536, 128, 128, 1], dtype: int8}\n";
  const std::string message =
      load_error("  - {op: relu}\n  - {op: conv2d, out_channels: 3, kernel: 1}\n", wide);
  expect_contains(message, "layer 'conv1': an ofmap of [65536, 128, 128, 3]; at most 2^31");
  std::string layers;
  for (int i = 0; i < 9999; ++i) layers += "  - {op: fully_connected, out_features: 10000}\n";
  const std::string small = "input: {shape: [1, 1, 1, 10000], dtype: int8}\n";  // 1 TB in all
  const DataLimit limit(1'000'000'000);
  expect_contains(load_error(layers, small), "w.yaml: needs about 1000.3 GB; ");
}

TEST(Workload, SeedFixesEveryByteAndBatchKeepsTheWeights) {
  const std::string path = "models/workloads/vgg8.yaml";
  const Workload one = load_workload(path);
  const Workload again = load_workload(path);
  EXPECT_EQ(one.input, again.input);
  const Workload four = load_workload(path, 4);
  EXPECT_EQ(four.input.shape[0], 4);
  for (std::size_t i = 0; i < one.graph.layers.size(); ++i) {
    const auto* conv = std::get_if<Conv2d>(&one.graph.layers[i].operation);
    if (conv == nullptr) continue;
    EXPECT_EQ(conv->weights, std::get<Conv2d>(again.graph.layers[i].operation).weights);
    EXPECT_EQ(conv->weights, std::get<Conv2d>(four.graph.layers[i].operation).weights);
    EXPECT_EQ(conv->bias, std::get<Conv2d>(four.graph.layers[i].operation).bias);
  }
  const std::string layer = "  - {op: conv2d, out_channels: 5, kernel: 3}\n";
  const auto seeded = [&](int seed) {
    return load(layer, "seed: " + std::to_string(seed) + "\ninput: {shape: [1, 9, 8, 3]}\n");
  };
  EXPECT_FALSE(seeded(1).input == seeded(2).input);
  EXPECT_FALSE(std::get<Conv2d>(seeded(1).graph.layers[0].operation).weights ==
               std::get<Conv2d>(seeded(2).graph.layers[0].operation).weights);
}

// A fixed sum of the bytes of one workload: a change of the generator changes what every seed in
// a report means, and must be on purpose.
TEST(Workload, TensorsOfASeedNeverChange) {
  const Workload workload = load_workload("models/workloads/conv3x3.yaml");
  const auto& conv = std::get<Conv2d>(workload.graph.layers[0].operation);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const Tensor* tensor : {&workload.input, &conv.weights, &conv.bias}) {
    for (const std::byte byte : tensor->bytes) {
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ull;
    }
  }
  EXPECT_EQ(hash, 14683297425567675349ull);
}

TEST(Workload, WeightsOfAChannelAddUpToNearlyZero) {
  const Workload workload = load_workload("models/workloads/conv3x3.yaml");
  const auto& conv = std::get<Conv2d>(workload.graph.layers[0].operation);
  const auto weights = conv.weights.as<std::int8_t>();
  for (std::size_t channel = 0; channel < 128; ++channel) {
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (const std::int8_t weight : weights.subspan(channel * 1152, 1152)) {
      sum += weight;
      squares += weight * weight;
    }
    EXPECT_EQ(sum, 0) << channel;
    EXPECT_GT(squares, 1152 * 30 * 30) << channel;
  }
}

TEST(Distribution, LargestOfFourFollowsTheOrderStatistic) {
  const Value value;  // int8
  const Distribution one = normal(value, 0, 20);
  EXPECT_NEAR(mean(one), 0, 0.01);
  EXPECT_NEAR(variance(one), 400, 1);
  // The largest of four standard normals has mean 1.0294 and variance 0.4917.
  const Distribution four = largest(one, 4);
  EXPECT_NEAR(mean(four), 1.0294 * 20, 0.05);
  EXPECT_NEAR(variance(four), 0.4917 * 400, 1);
  // max(x, 0) of a standard normal has mean 1 / sqrt(2 pi) and variance 1/2 - 1/(2 pi).
  EXPECT_NEAR(mean(rectified(one, 0)), 0.39894 * 20, 0.05);
  EXPECT_NEAR(variance(rectified(one, 0)), 0.34085 * 400, 1);
}

TEST(Workload, MistakesSayWhereAndWhatIsAllowed) {
  expect_contains(load_error("  - {op: conv2, out_channels: 5, kernel: 3}\n"),
                  "w.yaml:4:10: op: found 'conv2'; did you mean 'conv2d'?");
  expect_contains(load_error("  - {op: conv2d, out_chanels: 5, kernel: 3}\n"),
                  "w.yaml:4:18: unknown key 'out_chanels'; did you mean 'out_channels'?");
  expect_contains(load_error("  - {op: conv2d, out_channels: 5, kernel: 0}\n"),
                  "kernel: 0 is out of range");
  expect_contains(load_error("  - {op: conv2d, out_channels: 5, kernel: 10}\n"),
                  "w.yaml:4:5: layer 'conv1': a kernel of 10 x 10 does not fit");
  expect_contains(load_error("  - {op: conv2d, out_channels: 5, kernel: 3, pad: [1, 2, 3]}\n"),
                  "expected n, [h, w] or [top, left, bottom, right]");
  expect_contains(load_error("  - {op: fully_connected, out_features: 5}\n"),
                  "put a flatten before it");
  expect_contains(load_error("  - {op: conv2d, out_channels: 5, kernel: 1, zero_point: 200}\n"),
                  "zero_point 200; allowed for int8: -128 to 127");
  expect_contains(load_error("  - {op: relu, name: a}\n  - {op: relu, name: a}\n"),
                  "yaml:5:5: layer 'a': two layers are called 'a'");
  expect_contains(load_error("  []\n"), "0 layers; allowed: 1 to");
  expect_contains(load_error("  - {op: conv2d, out_channels: 16777216, kernel: 64, pad: 64}\n"),
                  "w.yaml");
  expect_contains(load_error("  - {op: max_pool, kernel: 3, pad: 3}\n"), "w.yaml");
  expect_contains(load_error("  - {name: x}\n"), "the key 'op' is missing");
  expect_contains(error_of([] { load_workload("models/workloads/vgg8.yaml", 0); }), "vgg8.yaml");
}

}  // namespace
}  // namespace qsim
