// Times of whole layers, words to words, with cold caches: every launch has an input, an output and
// weights of its own.
#include <cstring>
#include <iomanip>
#include <iostream>

#include "core/base/median.h"
#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/cuda/device_layer.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden_test {
namespace {

using golden::BinaryCudaPath;
using golden::BinaryCudaPlan;
using golden::BinaryStage;
using golden::BitTensor;
using golden::cuda::DeviceBuffer;
using golden::cuda::Stream;

constexpr double kPeakBitOps = 15'450e12;  // that wgmma on bits sustains on one H200, measured

struct BenchLayer {
  std::int64_t channels;
  std::int64_t size;
  int bases;  // of the weights and of the activations
  double target_us;
};

constexpr BenchLayer kBenchLayers[] = {
    {256, 28, 1, 6}, {256, 28, 2, 14}, {256, 28, 3, 27}, {64, 56, 3, 16}, {512, 14, 3, 29}};
constexpr std::int64_t kBatch = 32;

RandomLayer make_layer(const BenchLayer& bench) {
  Random random(static_cast<std::uint64_t>(bench.channels * 10 + bench.bases));
  RandomLayer layer;
  const ImageShape shape = {kBatch, bench.size, bench.size, bench.channels};
  layer.input = random_bits(random, shape, bench.bases);
  layer.conv.window = {
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  layer.conv.weights = random_weights(random, {bench.channels, 3, 3, bench.channels}, bench.bases);
  const auto channels = static_cast<std::size_t>(bench.channels);
  layer.conv.beta = random_reals(random, static_cast<std::size_t>(bench.bases));
  layer.conv.bias = random_reals(random, channels);
  layer.stage.gain = random_reals(random, channels);
  for (float& gain : layer.stage.gain) gain /= 50;
  layer.stage.shift = random_reals(random, channels);
  layer.stage.v = random_reals(random, static_cast<std::size_t>(bench.bases));
  return layer;
}

// Seconds of a launch, ascending.
std::vector<double> time_layer(const RandomLayer& layer, const BinaryCudaPlan& plan, int runs) {
  const Stream stream;
  const std::size_t input_bytes = layer.input.words.size() * 8;
  const auto output_bytes = static_cast<std::size_t>(plan.output_bytes());
  const int rotations =
      golden::cuda::cold_rotations(input_bytes + output_bytes + plan.packed.size());
  std::vector<DeviceBuffer> inputs;
  std::vector<DeviceBuffer> outputs;
  std::vector<DeviceBuffer> packed;
  for (int i = 0; i < rotations; ++i) {
    inputs.push_back(golden::cuda::upload(layer.input.words));
    outputs.push_back(golden::cuda::poisoned(output_bytes));
    packed.push_back(golden::cuda::upload(plan.packed));
  }
  golden::cuda::ColdTiming timing;
  timing.runs = runs;
  return golden::cuda::time_cold(
      stream, rotations,
      [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        golden::enqueue_binary_conv(plan, packed[at].as<>(), inputs[at].as<>(), outputs[at].as<>(),
                                    stream.get(), true);
      },
      timing);
}

}  // namespace

ExitCode bench_binary(int runs) {
  std::cout
      << "3x3, pads of 1, batch " << kBatch
      << ", words to words (convolution, batch norm, ReLU, quantizer), cold caches; medians of "
      << runs << "\nchannels  size  bases  path      us      p10     p90     TOPS   limit us  "
      << "share  target us\n";
  bool right = true;
  int met = 0;
  DeviceLayer device;
  for (const BenchLayer& bench : kBenchLayers) {
    const RandomLayer layer = make_layer(bench);
    const BitTensor expected =
        golden::OptimisedBinaryConv(layer.conv, {.threads = 0}).run(layer.input, layer.stage);
    for (const BinaryCudaPath path : {BinaryCudaPath::kAuto, BinaryCudaPath::kPortable}) {
      const BinaryCudaPlan plan =
          plan_binary_conv(layer.conv, &layer.stage, layer.input.shape, layer.input.bases, path);
      const std::vector<std::uint8_t> found = device.run(plan, layer.input, TablesFrom::kHost);
      const bool equal = found.size() == expected.words.size() * 8 &&
                         std::memcmp(found.data(), expected.words.data(), found.size()) == 0;
      right = right && equal;
      const std::vector<double> times = time_layer(layer, plan, runs);
      const double median = qsim::median(times);
      if (path == BinaryCudaPath::kAuto && median * 1e6 <= bench.target_us) ++met;
      const double ops = 2.0 * static_cast<double>(kBatch * bench.size * bench.size) *
                         static_cast<double>(bench.channels * bench.channels) * 9 * bench.bases *
                         bench.bases;
      std::cout << std::fixed << std::setprecision(2) << std::setw(8) << bench.channels
                << std::setw(6) << bench.size << std::setw(7) << bench.bases << "  " << std::left
                << std::setw(8) << golden::binary_cuda_path_name(plan.path) << std::right
                << std::setw(8) << median * 1e6 << std::setw(8) << times[times.size() / 10] * 1e6
                << std::setw(8) << times[times.size() - 1 - times.size() / 10] * 1e6
                << std::setprecision(0) << std::setw(8) << ops / median * 1e-12
                << std::setprecision(1) << std::setw(9) << ops / kPeakBitOps * 1e6 << std::setw(7)
                << ops / kPeakBitOps / median * 100 << "%" << std::setw(8) << bench.target_us
                << (equal ? "" : "  DIFFERS FROM THE CPU") << std::endl;
    }
  }
  std::cout << met << " of " << std::size(kBenchLayers) << " targets of an H200 met\n";
  return right ? ExitCode::kOk : ExitCode::kMismatch;
}

}  // namespace qsim::golden_test
