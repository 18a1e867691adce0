// How many multiply-accumulates a second the SystemC engine's EXECUTE kernel does on commands as a
// compiler makes them, for each shipped array and vector path. One thread, median of 9. With
// --figures as JSON: seconds of a command.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "bench/common/figures.h"
#include "core/base/random.h"
#include "sim/systemc/datapath/array_kernel.h"

namespace qsim {

using namespace sim;
namespace {

constexpr int kRepeats = 9;

struct Case {
  const char* config;
  std::int64_t rows, cols, act_kib, weight_kib, accumulator_kib;
};

constexpr Case kCases[] = {
    {"pe4x4", 4, 4, 64, 32, 16},        {"pe8x8", 8, 8, 128, 64, 32},
    {"pe16x16", 16, 16, 256, 64, 64},   {"pe16x32", 16, 32, 256, 128, 128},
    {"pe32x32", 32, 32, 512, 256, 256}, {"tpu128x128", 128, 128, 4096, 2048, 2048},
};

// A 3x3 convolution with as many planes as the activation and weight slots hold.
Execute convolution(const ArchConfig& arch, std::uint32_t size) {
  Execute e;
  e.blocks = 1;
  e.kernel_h = e.kernel_w = 3;
  e.stride_h = e.stride_w = 1;
  e.origin_row = e.origin_col = -1;
  e.out_cols = size;
  e.out_rows = static_cast<std::uint32_t>(
      std::min<std::int64_t>(size, arch.accumulator_half_words() / size));
  e.in_rows = e.out_rows;
  e.in_cols = e.act_row_words = size;
  e.act_plane_words = e.in_rows * size;
  const std::int64_t planes = std::min(arch.act_slot_words() / e.act_plane_words,
                                       arch.weight_slot_words() / arch.fold_words() / 9);
  e.planes = static_cast<std::uint32_t>(std::max<std::int64_t>(planes, 1));
  return e;
}

void fill(std::span<std::int8_t> bytes, Random& random) {
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(random.next());
}

// `again`: the activations are those of the command before, as for a tile's other column blocks, so
// that the vector paths need not lay them anew.
std::vector<double> seconds_a_command(const Execute& execute, const ArchConfig& arch,
                                      VectorPath path, bool again) {
  using Clock = std::chrono::steady_clock;
  Random random(1);
  Scratchpads scratchpads(arch);
  fill(scratchpads.written_activations(0, arch.act_words()), random);
  fill(scratchpads.weights(0, arch.weight_words()), random);
  ArrayKernel kernel(path);
  kernel.execute(execute, arch, scratchpads);
  const int inner = path == VectorPath::kPortable ? 1 : 20;
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point begin = Clock::now();
    for (int j = 0; j < inner; ++j) {
      if (!again) scratchpads.written_activations(0, arch.act_words());
      kernel.execute(execute, arch, scratchpads);
    }
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / inner);
  }
  return seconds;
}

void print(const Case& c, const Execute& e, const std::string& variant, std::vector<double> samples,
           bool figures) {
  const std::string size = std::to_string(e.out_rows) + "x" + std::to_string(e.out_cols);
  const bench::Figure figure = bench::time_figure(
      "array_kernel/" + std::string(c.config) + "/" + size + "/" + variant, std::move(samples));
  if (figures) {
    bench::print_figure(figure);
    return;
  }
  const double macs =
      9.0 * e.planes * e.out_rows * e.out_cols * static_cast<double>(c.rows * c.cols);
  std::printf("%-10s  %5s pixels, %3u planes  %-17s  %9.2f us  %7.1f GMAC/s\n", c.config,
              size.c_str(), e.planes, variant.c_str(), figure.value * 1e6,
              macs / figure.value * 1e-9);
}

void run_case(const Case& c, bool figures) {
  ArchConfig arch;
  arch.array_rows = c.rows;
  arch.array_cols = c.cols;
  arch.act_scratchpad_kib = c.act_kib;
  arch.weight_scratchpad_kib = c.weight_kib;
  arch.accumulator_kib = c.accumulator_kib;
  for (const std::uint32_t size : {8u, 14u, 32u}) {
    const Execute e = convolution(arch, size);
    for (const VectorPath path : kVectorPaths) {
      if (!is_supported(path)) continue;
      const std::string variant(vector_path_name(path));
      print(c, e, variant, seconds_a_command(e, arch, path, false), figures);
      if (path == VectorPath::kPortable) continue;  // lays nothing
      print(c, e, variant + "/again", seconds_a_command(e, arch, path, true), figures);
    }
  }
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  if (argc != 1) {
    std::fprintf(stderr, "usage: systemc_array_kernel_bench [--figures]\n");
    return 2;
  }
  for (const qsim::Case& c : qsim::kCases) qsim::run_case(c, figures);
}
