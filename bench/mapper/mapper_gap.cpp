// How far the fast search is from the best known: random layers as networks have them
// (tests/compiler/shape_layer.h) with each dataflow, on machines in turn. For each aim, over all
// of them, the mean and the worst distance from the full search, or from the fast one where that
// found less; with --lines one line for each layer.
// Arguments: [--lines] [--full SECONDS] [--aim NAME] FIRST_SEED COUNT CONFIG.yaml ...; --full ends
// each full search after SECONDS. Without it no full search runs. --aim leaves out other aims than
// this: cycles, "cycles 0", "cycles 2%", dram_bytes, energy or
// energy_delay.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "compiler/lowering/mapper.h"
#include "compiler/lowering/objective.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/settings/energy_table_file.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

struct Arguments {
  bool lines = false;
  double full_seconds = 0;
  std::string aim;
  std::uint64_t first_seed = 0;
  std::uint64_t count = 0;
  std::vector<ArchConfig> archs;
};

// What a search is asked for, and how far the fast one was from the best known, as parts of it.
struct Aim {
  const char* name;
  Objective objective;
  double slack;
  std::vector<double> cycles = {};
  std::vector<double> values = {};
};

struct Found {
  MappedLayer mapped;
  double cycles = 0;
  double value = 0;
  double seconds = 0;
};

Found search(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options) {
  Found found;
  const double begin = bench::cpu_seconds();
  found.mapped = map_layer(planned, arch, options);
  found.seconds = bench::cpu_seconds() - begin;
  const LayerCost& cost = found.mapped.cost;
  found.cycles = static_cast<double>(cost.cycles);
  found.value =
      value_of({static_cast<std::int64_t>(cost.cycles), found.mapped.amount}, options.objective);
  return found;
}

void print(const Found& found) {
  const LayerCost& cost = found.mapped.cost;
  std::printf(" %llu cycles %llu bytes %.9g value %.2f ms %lld timed %s",
              static_cast<unsigned long long>(cost.cycles),
              static_cast<unsigned long long>(cost.read_bytes() + cost.write_bytes), found.value,
              found.seconds * 1e3, static_cast<long long>(found.mapped.timed),
              found.mapped.is_complete ? "complete" : "stopped");
}

class Gap {
 public:
  explicit Gap(const Arguments& arguments) : arguments_(arguments) {
    options_.energy =
        std::make_shared<const EnergyTable>(load_energy_table("configs/energy/horowitz-45nm.yaml"));
  }

  void run() {
    for (std::uint64_t i = 0; i < arguments_.count; ++i) {
      const std::uint64_t seed = arguments_.first_seed + i;
      Random random(seed);
      const testing::LayerShape shape = testing::realistic_shape(random);
      const ArchConfig& arch = arguments_.archs[i % arguments_.archs.size()];
      const testing::ShapeLayer layer(shape, arch);
      for (std::size_t d = 0; d < kDataflows; ++d) {
        options_.dataflow = static_cast<Dataflow>(d);
        if (arguments_.lines) {
          std::printf("%llu %s %s %s", static_cast<unsigned long long>(seed), arch.name.c_str(),
                      std::string(kDataflowNames[d]).c_str(), shape.text().c_str());
        }
        try {
          for (Aim& aim : aims_) {
            if (arguments_.aim.empty() || arguments_.aim == aim.name) compare(*layer, arch, aim);
          }
        } catch (const Error& error) {
          if (arguments_.lines) std::printf(" | %s", error.what());
        }
        if (arguments_.lines) std::printf("\n");
        std::fflush(stdout);
      }
    }
    print_sums();
  }

 private:
  void compare(const PlannedLayer& planned, const ArchConfig& arch, Aim& aim) {
    options_.objective = aim.objective;
    options_.slack = aim.slack;
    options_.search = MappingSearch::kFast;
    options_.is_over = nullptr;
    const Found fast = search(planned, arch, options_);
    if (arguments_.lines) std::printf(" | %s:", aim.name);
    if (arguments_.lines) print(fast);
    if (arguments_.full_seconds <= 0) return;
    options_.search = MappingSearch::kFull;
    options_.is_over = bench::cpu_budget(arguments_.full_seconds);
    const Found full = search(planned, arch, options_);
    if (arguments_.lines) print(full);
    aim.cycles.push_back(fast.cycles / std::min(fast.cycles, full.cycles) - 1);
    aim.values.push_back(fast.value / std::min(fast.value, full.value) - 1);
    complete_ += full.mapped.is_complete ? 1 : 0;
    ++searches_;
  }

  void print_sums() {
    if (searches_ == 0) return;
    std::printf("%lld full searches, %lld of them complete\n", static_cast<long long>(searches_),
                static_cast<long long>(complete_));
    for (Aim& aim : aims_) {
      if (aim.cycles.empty()) continue;
      print_sum(aim.name, "cycles", aim.cycles);
      print_sum(aim.name, "value", aim.values);
    }
  }

  static void print_sum(const char* aim, const char* what, std::vector<double>& gaps) {
    std::sort(gaps.begin(), gaps.end());
    double sum = 0;
    for (const double gap : gaps) sum += gap;
    const auto share = [&](double part) {
      const auto last = static_cast<double>(gaps.size() - 1);
      return 100 * gaps[static_cast<std::size_t>(part * last)];
    };
    std::printf(
        "%-12s %-7s %4zu layers: mean %.3f%%, median %.3f%%, 90%% at most %.3f%%, "
        "worst %.3f%%\n",
        aim, what, gaps.size(), 100 * sum / static_cast<double>(gaps.size()), share(0.5),
        share(0.9), share(1));
  }

  const Arguments& arguments_;
  MapperOptions options_;
  std::vector<Aim> aims_ = {
      {"cycles", Objective::kCycles, 0.0005},  {"cycles 0", Objective::kCycles, 0},
      {"cycles 2%", Objective::kCycles, 0.02}, {"dram_bytes", Objective::kBytes, 0},
      {"energy", Objective::kEnergy, 0},       {"energy_delay", Objective::kEdp, 0}};
  std::int64_t searches_ = 0;
  std::int64_t complete_ = 0;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string word = argv[i];
    if (word == "--lines") {
      arguments.lines = true;
    } else if (word == "--aim" && i + 1 < argc) {
      arguments.aim = argv[++i];
    } else if (word == "--full" && i + 1 < argc) {
      arguments.full_seconds = std::strtod(argv[++i], nullptr);
    } else {
      return false;
    }
  }
  if (argc - i < 3) return false;
  arguments.first_seed = std::strtoull(argv[i], nullptr, 10);
  arguments.count = std::strtoull(argv[i + 1], nullptr, 10);
  for (i += 2; i < argc; ++i) arguments.archs.push_back(load_arch_config(argv[i]));
  return true;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    qsim::Arguments arguments;
    if (!qsim::parse(argc, argv, arguments)) {
      std::fprintf(stderr,
                   "usage: mapper_gap [--lines] [--full SECONDS] [--aim NAME] FIRST_SEED COUNT "
                   "CONFIG.yaml ...\n");
      return 2;
    }
    qsim::Gap(arguments).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
