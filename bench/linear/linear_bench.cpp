// linear_bench [--runs N] [--vector PATH] [--figures]
// The weight-only linear layer on one thread beside what reading its weights from memory takes: CPU
// times of the two in turn. Weights are copied until 256 MiB take turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "core/random.h"
#include "golden/common/memory_bandwidth.h"
#include "golden/linear/packed_linear.h"
#include "golden/linear/quantizer.h"

namespace qsim {
namespace {

constexpr std::size_t kBytesBeyondCaches = std::size_t{256} << 20;

struct Case {
  std::int64_t in_features, out_features, rows;
  int bits;
  std::int64_t group_size;
};

constexpr Case kCases[] = {{2048, 8192, 1, 8, 0},  {4096, 4096, 1, 8, 0},   {4096, 4096, 16, 8, 0},
                           {4096, 4096, 1, 8, 32}, {4096, 4096, 1, 8, 128}, {4096, 4096, 1, 4, 128},
                           {4096, 4096, 1, 4, 32}};

std::string name_of(const Case& one) {
  return "linear/" + std::to_string(one.in_features) + "x" + std::to_string(one.out_features) +
         "/int" + std::to_string(one.bits) +
         (one.group_size == 0 ? "" : "_g" + std::to_string(one.group_size)) + "/m" +
         std::to_string(one.rows);
}

// Sums of uniform numbers, about normal, of the deviation that activations and weights have.
float near_normal(Random& random, float deviation) {
  const std::uint64_t bits = random.next();
  std::int64_t sum = -2 * 65535;
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(bits >> (16 * i) & 0xFFFF);
  return static_cast<float>(sum) * (1.7320508F / 65536) * deviation;
}

golden::LinearWeights weights_of(const Case& one, Random& random) {
  std::vector<float> floats(static_cast<std::size_t>(one.in_features * one.out_features));
  for (float& value : floats) value = near_normal(random, 0.02F);
  return one.bits == 8 ? golden::quantize_per_channel(floats, one.out_features, one.in_features,
                                                      one.group_size)
                       : golden::quantize_to_int4(floats, one.out_features, one.in_features,
                                                  one.group_size, false);
}

void measure(const Case& one, int runs, golden::VectorPath path, bool figures) {
  Random random(1);
  const golden::PackedLinear layer(weights_of(one, random), {}, {path, {}});
  const auto bytes = static_cast<std::size_t>(layer.weight_bytes());
  const std::vector<golden::PackedLinear> copies(kBytesBeyondCaches / bytes + 1, layer);
  const std::size_t words = bytes / sizeof(std::uint64_t);
  const std::vector<std::uint64_t> buffer(words * copies.size(), 1);
  golden::FloatMatrix x(golden::FloatType::kFloat16, one.rows, one.in_features);
  for (std::size_t i = 0; i < x.bytes.size() / 2; ++i) {
    x.set(i, golden::bits_of(near_normal(random, 1)));
  }
  golden::ThreadTeam team(1);
  std::vector<double> times;
  std::vector<double> ratios;
  for (std::size_t run = 0; run < static_cast<std::size_t>(runs); ++run) {
    const std::size_t turn = run % copies.size();
    const double limit = bench::cpu_seconds_of([&] {
      const std::span<const std::uint64_t> part(buffer.data() + turn * words, words);
      if (golden::read_words(team, part) != words) std::abort();
    });
    times.push_back(
        bench::cpu_seconds_of([&] { copies[turn].run(x, golden::FloatType::kFloat16, team); }));
    ratios.push_back(times.back() / limit);
  }
  const std::string name = name_of(one);
  const bench::Figure ratio =
      bench::median_figure(name + "/over_reading", ratios, "1", bench::Kind::kRatio);
  const bench::Figure time = bench::time_figure(name + "/cpu_time", times);
  if (figures) {
    bench::print_figure(time);
    bench::print_figure(ratio);
  } else {
    std::printf("%-32s %8.3f ms, %5.1f%% of what reading the weights gives (%.2f GB/s)\n",
                name.c_str(), 1e3 * time.value, 100 / ratio.value,
                1e-9 * static_cast<double>(bytes) / time.value);
  }
}

void run(int argc, char** argv) {
  const bool figures = bench::take_figures_option(argc, argv);
  int runs = 21;
  golden::VectorPath vector_path = golden::VectorPath::kAuto;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--runs") == 0) runs = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--vector") == 0) {
      for (const golden::VectorPath path : golden::kVectorPaths) {
        if (golden::vector_path_name(path) == argv[i + 1]) vector_path = path;
      }
    }
  }
  for (const Case& one : kCases) measure(one, runs, vector_path, figures);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    qsim::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linear_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
