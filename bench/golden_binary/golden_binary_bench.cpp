// golden_binary_bench [--figures]
// Binary convolution on one thread, bits to bits, beside its popcount limit: how long the innermost
// loop (xor, popcount, add of words) takes for as many words on operands that stay in the first
// cache. Both in CPU time and in turn, so that their ratio holds on a busy machine too.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "core/base/random.h"
#include "golden/kernels/binary/optimised_conv.h"

namespace qsim {
namespace {

constexpr int kRuns = 15;
constexpr std::size_t kLimitRows = 6;
constexpr std::size_t kLimitWords = 64;  // 8 KiB of panel and 3 KiB of rows stay in the first cache

struct Case {
  const char* name;
  std::int64_t channels;
  std::int64_t size;
  int bases;  // of weights and of activations
};

constexpr Case kLayers[] = {{"c64_56_m1", 64, 56, 1},   {"c64_56_m3", 64, 56, 3},
                            {"c256_28_m1", 256, 28, 1}, {"c256_28_m2", 256, 28, 2},
                            {"c256_28_m3", 256, 28, 3}, {"c512_14_m3", 512, 14, 3}};

std::vector<float> random_floats(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-1000, 1000)) / 1000.0F;
  return values;
}

struct Work {
  golden::BitTensor input;
  golden::BinaryConv conv;
  golden::BinaryStage stage;
  double popcounts;  // of words
};

Work make_work(const Case& layer) {
  Random random(1);
  Work work;
  const ImageShape shape = {1, layer.size, layer.size, layer.channels};
  const std::vector<float> v = random_floats(random, layer.bases);
  work.input =
      golden::pack_activations(random_floats(random, element_count(shape.nhwc())), shape, v);
  const golden::WeightShape weights = {layer.channels, 3, 3, layer.channels};
  work.conv.weights =
      golden::binarize(random_floats(random, 9 * layer.channels * layer.channels), weights,
                       golden::even_u(layer.bases), golden::AlphaGroup::kChannel)
          .weights;
  work.conv.beta = random_floats(random, layer.bases);
  work.conv.window = {
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  work.stage.gain = random_floats(random, layer.channels);
  work.stage.shift = random_floats(random, layer.channels);
  work.stage.v = v;
  work.popcounts = static_cast<double>(layer.size * layer.size * 9 * layer.channels *
                                       golden::bit_words(layer.channels)) *
                   layer.bases * layer.bases;
  return work;
}

// The innermost loop on operands that stay in the first cache, for as many words as the layer has.
class Limit {
 public:
  Limit(const golden::PopcountKernels& kernels, double popcounts)
      : kernels_(kernels),
        rounds_(std::max<std::int64_t>(
            1, static_cast<std::int64_t>(popcounts / static_cast<double>(kLimitRows * kLimitWords *
                                                                         golden::kPanelColumns)))),
        rows_(kLimitRows * kLimitWords, 0x0123456789abcdef),
        panel_(kLimitWords * golden::kPanelColumns + 8, 0x5555aaaa3333cccc) {}

  void run() {
    void* address = panel_.data();
    std::size_t space = panel_.size() * 8;
    const auto* panel = static_cast<const std::uint64_t*>(
        std::align(64, kLimitWords * golden::kPanelColumns * 8, address, space));
    std::int32_t counts[kLimitRows * golden::kPanelColumns];
    for (std::int64_t round = 0; round < rounds_; ++round) {
      kernels_.count_rows(rows_.data(), kLimitWords, kLimitRows, panel, kLimitWords, counts);
    }
  }

 private:
  const golden::PopcountKernels& kernels_;
  std::int64_t rounds_;
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> panel_;
};

void measure(const Case& layer, golden::PopcountPath path, bool figures) {
  const Work work = make_work(layer);
  const golden::OptimisedBinaryConv conv(work.conv, {path, 1});
  Limit limit(golden::popcount_kernels(path), work.popcounts);
  std::vector<double> seconds;
  std::vector<double> ratios;
  for (int run = 0; run < kRuns; ++run) {
    seconds.push_back(bench::cpu_seconds_of([&] { conv.run(work.input, work.stage); }));
    ratios.push_back(seconds.back() / bench::cpu_seconds_of([&] { limit.run(); }));
  }
  const std::string name =
      "golden_binary/" + std::string(golden::popcount_path_name(path)) + "/" + layer.name;
  const bench::Figure time = bench::time_figure(name, seconds);
  const bench::Figure ratio =
      bench::median_figure(name + "_over_limit", ratios, "1", bench::Kind::kRatio);
  if (figures) {
    bench::print_figure(time);
    bench::print_figure(ratio);
    return;
  }
  std::printf("%-16s %-12s %9.3f ms  %5.1f%% of the popcount limit\n",
              std::string(golden::popcount_path_name(path)).c_str(), layer.name, time.value * 1e3,
              100 / ratio.value);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  for (const qsim::golden::PopcountPath path : qsim::golden::kPopcountPaths) {
    if (!qsim::golden::is_available(path)) continue;
    for (const qsim::Case& layer : qsim::kLayers) qsim::measure(layer, path, figures);
  }
}
