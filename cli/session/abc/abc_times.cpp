#include "cli/session/abc/abc_times.h"

#include <time.h>

#include "core/base/median.h"
#include "core/base/random.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/graph_executor.h"
#include "golden/kernels/binary/cuda/layer_times.h"
#include "golden/kernels/binary/float_conv.h"
#include "golden/kernels/binary/optimised_conv.h"

namespace qsim::cli {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds_of(Work work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

std::vector<float> random_floats(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(random.uniform(-1'000'000, 1'000'000)) * 1e-6F;
  }
  return values;
}

Tensor random_bytes(Random& random, const Shape& shape) {
  Tensor tensor(DType::kInt8, shape);
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.next() >> 56);
  return tensor;
}

// One layer with the shift and ReLU that its psums need.
Graph int8_graph(Random& random, const golden::WeightShape& weights, const Window& window,
                 const ImageShape& input, const ImageShape& output) {
  Conv2d conv;
  conv.window = window;
  conv.weights = random_bytes(
      random, {weights.out_channels, weights.kernel_h, weights.kernel_w, weights.channels});
  conv.bias = Tensor(DType::kInt32, {weights.out_channels});
  conv.requantization.shifts = {10};
  conv.requantization.lo = 0;
  Graph graph;
  graph.name = "int8";
  graph.input_value().shape = input;
  Value ofmap;
  ofmap.shape = output;
  append(graph, "conv", conv, ofmap);
  return graph;
}

golden::BinaryStage stage_of(Random& random, std::int64_t channels, int bases) {
  golden::BinaryStage stage;
  stage.gain = random_floats(random, channels);
  stage.shift = random_floats(random, channels);
  stage.v = random_floats(random, bases);
  return stage;
}

// The layer in its three forms, and what each reads.
struct TimedLayer {
  ImageShape input;
  std::vector<float> w;
  std::vector<float> x;
  golden::BinaryConv conv;
  golden::BinaryStage stage;
  golden::BitTensor bits;
  Graph int8;
  Tensor bytes;
};

TimedLayer make_layer(const AbcTiming& timing, std::int64_t size) {
  Random random(timing.seed);
  const golden::WeightShape& weights = timing.weights;
  TimedLayer layer;
  layer.input = {timing.batch, size, size, weights.channels};
  const ImageShape output = golden::window_shape(weights, timing.window, layer.input);
  layer.w = random_floats(random, weights.out_channels * weights.taps() * weights.channels);
  layer.x = random_floats(random, element_count(layer.input.nhwc()));
  layer.conv.weights =
      golden::binarize(layer.w, weights, golden::even_u(timing.bases), golden::AlphaGroup::kChannel)
          .weights;
  layer.conv.beta = random_floats(random, timing.activation_bases);
  layer.conv.window = timing.window;
  layer.bits = golden::pack_activations(layer.x, layer.input, layer.conv.beta);
  layer.stage = stage_of(random, weights.out_channels, timing.activation_bases);
  layer.int8 = int8_graph(random, weights, timing.window, layer.input, output);
  layer.bytes = random_bytes(random, layer.input.nhwc());
  return layer;
}

}  // namespace

AbcTimes time_abc_layer(const AbcTiming& timing, std::int64_t size) {
  const TimedLayer layer = make_layer(timing, size);
  const golden::OptimisedBinaryConv binary(layer.conv);
  const golden::GraphExecutor int8(layer.int8);
  std::vector<Tensor> int8_output = int8.run(layer.bytes);
  std::vector<double> times[3];
  for (int run = 0; run < timing.runs; ++run) {
    times[0].push_back(seconds_of([&] { binary.run(layer.bits, layer.stage); }));
    times[1].push_back(seconds_of(
        [&] { golden::float_conv(layer.w, timing.weights, timing.window, layer.x, layer.input); }));
    times[2].push_back(seconds_of([&] { int8.run(layer.bytes, int8_output); }));
  }
  return {size, median(times[0]), median(times[1]), median(times[2])};
}

AbcGpuTimes time_abc_layer_on_gpu(const AbcTiming& timing, std::int64_t size, int device) {
  const TimedLayer layer = make_layer(timing, size);
  const golden::BinaryCudaTime binary =
      golden::time_binary_conv(layer.conv, layer.stage, layer.bits, device, timing.runs);
  golden::CudaGraphExecutor int8(layer.int8, {.device = device, .keep = golden::CudaKeep::kLast});
  int8.run(layer.bytes);
  AbcGpuTimes times;
  times.size = size;
  times.kernels = golden::binary_cuda_path_name(binary.path);
  times.binary_seconds = binary.seconds;
  times.int8_seconds = int8.time_kernels(timing.runs).front().seconds;
  times.equal =
      binary.words ==
      golden::OptimisedBinaryConv(layer.conv, {.threads = 0}).run(layer.bits, layer.stage);
  return times;
}

}  // namespace qsim::cli
