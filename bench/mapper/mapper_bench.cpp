// The mapper's searches on the layers of networks: cycles and DRAM bytes of the choice, beside what
// no mapping can beat, mappings looked at and timed, and CPU seconds. Equal layers come once.
// Arguments: [--full [SECONDS]] [--figures] CONFIG.yaml WORKLOAD.yaml ...; with --full the full
// search too, within a budget of SECONDS for a layer (0: none).
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "compiler/lowering/mapper.h"
#include "compiler/passes/passes.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

constexpr int kRounds = 9;  // of the fast search

struct Arguments {
  bool figures = false;
  bool full = false;
  double budget_seconds = 0;
  std::string config;
  std::vector<std::string> workloads;
};

struct Searched {
  MappedLayer mapped;
  std::vector<double> seconds;
};

// Sums over the layers of a network.
struct Sum {
  std::uint64_t cycles = 0;
  std::uint64_t bytes = 0;
  std::int64_t candidates = 0;
  std::int64_t timed = 0;
  double seconds = 0;
  std::vector<double> round_seconds;  // of each round, if there are as many as a figure needs
};

Searched search(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options,
                int rounds) {
  Searched searched;
  for (int i = 0; i < rounds; ++i) {
    const double begin = bench::cpu_seconds();
    searched.mapped = map_layer(planned, arch, options);
    searched.seconds.push_back(bench::cpu_seconds() - begin);
  }
  return searched;
}

std::uint64_t bytes_of(const LayerCost& cost) { return cost.read_bytes() + cost.write_bytes; }

void add(Sum& sum, const Searched& searched) {
  sum.cycles += searched.mapped.cost.cycles;
  sum.bytes += bytes_of(searched.mapped.cost);
  sum.candidates += searched.mapped.candidates;
  sum.timed += searched.mapped.timed;
  if (searched.seconds.size() == kRounds) {
    sum.round_seconds.resize(kRounds);
    for (int i = 0; i < kRounds; ++i) sum.round_seconds[i] += searched.seconds[i];
  }
  sum.seconds += bench::median_figure("seconds", searched.seconds, "s", bench::Kind::kTime).value;
}

void print(const char* search, const Searched& s) {
  const MappedLayer& m = s.mapped;
  std::printf("  %-5s %12llu cycles %8.3f MB; %lld mappings, %lld timed, %.4f s%s\n", search,
              static_cast<unsigned long long>(m.cost.cycles),
              static_cast<double>(bytes_of(m.cost)) * 1e-6, static_cast<long long>(m.candidates),
              static_cast<long long>(m.timed),
              bench::median_figure("seconds", s.seconds, "s", bench::Kind::kTime).value,
              m.is_complete ? "" : "; the budget ended it");
}

void print_sum(const std::string& name, const char* search, const Sum& sum, bool figures) {
  if (figures) {
    const std::string prefix = "mapper/" + name + "/" + search;
    if (!sum.round_seconds.empty()) {
      bench::print_figure(bench::time_figure(prefix, sum.round_seconds));
    }
    bench::print_figure(
        bench::count_figure(prefix + "/cycles", static_cast<double>(sum.cycles), "cycles"));
    bench::print_figure(
        bench::count_figure(prefix + "/dram", static_cast<double>(sum.bytes), "bytes"));
    return;
  }
  std::printf(
      "%s, %s, distinct layers: %llu cycles, %.3f MB, %lld mappings (%.0f a second), "
      "%lld timed, %.4f s\n",
      name.c_str(), search, static_cast<unsigned long long>(sum.cycles),
      static_cast<double>(sum.bytes) * 1e-6, static_cast<long long>(sum.candidates),
      static_cast<double>(sum.candidates) / sum.seconds, static_cast<long long>(sum.timed),
      sum.seconds);
}

void run_network(const Arguments& arguments, const ArchConfig& arch, const std::string& file) {
  const Graph graph = load_workload(file).graph;
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  std::set<std::vector<std::int64_t>> done;
  Sum fast;
  Sum full;
  for (const PlannedLayer& planned : plan_memory(layers, arch).layers) {
    if (!done.insert(layer_key(planned, arch, {})).second) continue;
    if (!arguments.figures) {
      const LayerBounds bounds = layer_bounds(planned, arch);
      std::printf("%-8s at least %lld cycles of MACs, %lld of reads, %lld of writes; %.3f MB\n",
                  planned.layer->name.c_str(), static_cast<long long>(bounds.mac_cycles),
                  static_cast<long long>(bounds.read_bus_cycles),
                  static_cast<long long>(bounds.write_bus_cycles),
                  static_cast<double>(bounds.dram_bytes) * 1e-6);
    }
    const Searched quick = search(planned, arch, {}, kRounds);
    add(fast, quick);
    if (!arguments.figures) print("fast", quick);
    if (!arguments.full) continue;
    MapperOptions options;
    options.search = MappingSearch::kFull;
    if (arguments.budget_seconds > 0) options.is_over = bench::cpu_budget(arguments.budget_seconds);
    const Searched whole = search(planned, arch, options, 1);
    add(full, whole);
    if (!arguments.figures) print("full", whole);
    std::fflush(stdout);
  }
  const std::string name = graph.name + "/" + arch.name;
  print_sum(name, "fast", fast, arguments.figures);
  if (arguments.full) print_sum(name, "full", full, arguments.figures);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.figures = bench::take_figures_option(argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--full") {
      arguments.full = true;
      char* end = nullptr;
      const double seconds = i + 1 < argc ? std::strtod(argv[i + 1], &end) : 0;
      if (end != nullptr && end != argv[i + 1] && *end == '\0') {
        arguments.budget_seconds = seconds;
        ++i;
      }
    } else if (arguments.config.empty()) {
      arguments.config = word;
    } else {
      arguments.workloads.push_back(word);
    }
  }
  return arguments;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const qsim::Arguments arguments = qsim::parse(argc, argv);
  if (arguments.workloads.empty()) {
    std::fprintf(
        stderr,
        "usage: mapper_bench [--full [SECONDS]] [--figures] CONFIG.yaml WORKLOAD.yaml ...\n");
    return 2;
  }
  try {
    const qsim::ArchConfig arch = qsim::formats::load_arch_config(arguments.config);
    for (const std::string& file : arguments.workloads) qsim::run_network(arguments, arch, file);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
