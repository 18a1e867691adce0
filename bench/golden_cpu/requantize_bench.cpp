// requantize_bench [--runs N]
// Times the golden's requantization of one tile in the first-level cache: today's shift beside each
// rounding of the dyadic requantizer, on each vector path that this processor has. It prints a line
// for each: processor cycles for 32 channels of a pixel, and the least that the instructions need.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "core/random.h"
#include "golden/cpu/vector_kernels.h"

namespace qsim {
namespace {

using golden::kPanelChannels;

constexpr int kTilesOfRun = 20'000;

struct Tile {
  alignas(64) std::int32_t acc[golden::kMostTileRows * kPanelChannels];
  golden::RoundingPanel shift{};
  golden::RequantizerPanel panel;
  std::uint8_t out[golden::kMostTileRows * kPanelChannels];
};

void fill(Tile& tile, RequantizerRounding rounding) {
  Random random(1);
  for (std::int32_t& t : tile.acc) t = static_cast<std::int32_t>(random.uniform(-100'000, 100'000));
  for (std::size_t c = 0; c < kPanelChannels; ++c) {
    tile.shift.shift[c] = 10;
    tile.shift.addend[c] = 511;
    tile.shift.even[c] = 1;
    const auto multiplier = random.uniform(kLeastMultiplier, kMostMultiplier);
    tile.panel.set(c, {static_cast<std::uint32_t>(multiplier), 34, rounding});
  }
}

// Seconds of a cycle, by a chain of dependent multiplications of 3 cycles each. (Additions of a
// constant would not do: some processors rename them away.)
double cycle_seconds() {
  constexpr std::int64_t kSteps = 2'000'000;
  const double begin = bench::cpu_seconds();
  for (std::int64_t i = 0; i < kSteps / 16; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 16\n\timulq %%rax, %%rax\n\t.endr" ::: "rax");
#endif
  }
  return (bench::cpu_seconds() - begin) / static_cast<double>(3 * kSteps);
}

// The least cycles for 32 channels: the micro-operations of the vector instructions, loads and
// stores left out, over the ports that take them: three for 256 bits, two for 512 (uops.info, Alder
// Lake's performance cores, whose vector ports are those of Sapphire Rapids). 0: none is known.
double least_cycles(golden::VectorPath path, std::string_view kind) {
  struct Operations {
    std::string_view kind;
    int of_8;   // of eight channels, with 256 bits
    int of_16;  // of sixteen, with 512
  };
  // Exact products convert twice as many vectors: to doubles and back takes two operations each.
  constexpr Operations kOperations[] = {{"shift", 12, 13},
                                        {"float32", 7, 8},
                                        {"half_even", 18, 19},
                                        {"floor", 22, 19},
                                        {"half_up", 26, 23}};
  if (path == golden::VectorPath::kPortable) return 0;
  const auto* found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                   [&](const Operations& o) { return o.kind == kind; });
  constexpr int kPacking = 4;  // of 32 channels, with 256 bits; one with 512
  if (path == golden::VectorPath::kAvx512Vnni) return (2 * found->of_16 + 1) / 2.0;
  return (4 * found->of_8 + kPacking) / 3.0;
}

void measure(golden::VectorPath path, int runs) {
  const golden::VectorKernels& kernels = golden::vector_kernels(path);
  const char* const names[] = {"floor", "half_even", "half_up", "float32", "shift"};
  std::vector<std::vector<double>> cycles(5);
  static Tile tile;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t kind = 0; kind < 5; ++kind) {
      const bool shift = kind == 4;
      fill(tile, shift ? RequantizerRounding::kFloor : static_cast<RequantizerRounding>(kind));
      const golden::OutputRange range{3, -128, 127};
      const double cycle = cycle_seconds();
      const double begin = bench::cpu_seconds();
      for (int i = 0; i < kTilesOfRun; ++i) {
        if (shift) {
          kernels.requantize_tile(tile.acc, kernels.tile_rows, tile.shift, range, kPanelChannels,
                                  tile.out, kPanelChannels);
        } else {
          kernels.requantize_scaled_tile(tile.acc, kernels.tile_rows, tile.panel, range,
                                         kPanelChannels, tile.out, kPanelChannels);
        }
      }
      const double seconds = bench::cpu_seconds() - begin;
      cycles[kind].push_back(seconds / cycle / kTilesOfRun / kernels.tile_rows);
    }
  }
  for (auto& samples : cycles) std::sort(samples.begin(), samples.end());
  const double of_shift = cycles[4][cycles[4].size() / 2];
  for (const std::size_t kind :
       {std::size_t{4}, std::size_t{3}, std::size_t{1}, std::size_t{0}, std::size_t{2}}) {
    const double median = cycles[kind][cycles[kind].size() / 2];
    std::printf("%-12s %-10s %7.1f cycles for 32 channels, %.2f of shift, limit %.1f\n",
                std::string(vector_path_name(path)).c_str(), names[kind], median, median / of_shift,
                least_cycles(path, names[kind]));
  }
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  int runs = 15;
  if (argc == 3 && std::strcmp(argv[1], "--runs") == 0) runs = std::max(1, std::atoi(argv[2]));
  for (const qsim::golden::VectorPath path : qsim::golden::kVectorPaths) {
    if (qsim::golden::is_available(path)) qsim::measure(path, runs);
  }
  return 0;
}
