// What limits a layer, on runs of the engine: the parts of the critical path add up on everything
// that is shipped and on random layers, the path grows as the latencies on it do, and a resource
// that limits a layer is one whose doubling helps.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <numeric>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/machine/dram_channel.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

RunAccount time_of(Engine& engine, const Program& program) {
  return account(program, engine.run(program, {}, {.move_data = false}).times);
}

std::uint64_t sum(const auto& cycles) {
  return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
}

std::vector<ArchConfig> shipped_configs() {
  std::vector<ArchConfig> configs;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (!entry.is_regular_file()) continue;
    configs.push_back(load_arch_config(entry.path()));
  }
  std::sort(configs.begin(), configs.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return configs;
}

std::uint64_t part(const LayerAccount& layer, PathPart part) {
  return layer.path.cycles[static_cast<std::size_t>(part)];
}

void expect_parts_add_up(const RunAccount& run) {
  for (const LayerAccount& layer : run.layers) {
    EXPECT_EQ(sum(layer.path.cycles), layer.cycles());
    EXPECT_EQ(sum(layer.path.waits) + layer.stream_cycles, layer.cycles());
    EXPECT_EQ(sum(layer.busy.loads), layer.busy.units[0]);
    // A unit is occupied whenever the path is at its work.
    EXPECT_LE(part(layer, PathPart::kArray) + part(layer, PathPart::kFoldBubbles),
              layer.busy.units[1]);
    EXPECT_LE(part(layer, PathPart::kWeights), layer.busy.loads[1]);
    EXPECT_LE(part(layer, PathPart::kActivations), layer.busy.loads[0]);
    EXPECT_LE(part(layer, PathPart::kParameters), layer.busy.loads[2]);
    EXPECT_LE(part(layer, PathPart::kPost), layer.busy.units[2]);
    EXPECT_LE(part(layer, PathPart::kWriteBus), layer.busy.units[3]);
    EXPECT_GE(kLimiters * limited_by(layer.path.cycles).path_cycles, layer.cycles());
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    EXPECT_EQ(sum_of_layers(run).busy.units[u], run.units[u].busy_cycles) << kUnitNames[u];
  }
}

TEST(Limits, PartsAddUpForEveryShippedWorkloadAndConfig) {
  const auto engine = make_systemc_engine();
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("models/workloads")) {
    const Workload workload = load_workload(entry.path());
    for (const ArchConfig& arch : shipped_configs()) {
      SCOPED_TRACE(entry.path().stem().string() + " on " + arch.name);
      expect_parts_add_up(time_of(*engine, compile(workload.graph, arch)));
      ++runs;
    }
  }
  EXPECT_EQ(runs, 10 * 7);
}

TEST(Limits, PartsAddUpForRandomLayers) {
  const auto engine = make_systemc_engine();
  const std::vector<ArchConfig> configs = shipped_configs();
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = shrink_memories(configs[seed % configs.size()], random);
    arch.outstanding_bursts = random.uniform(1, 16);
    arch.dram_latency_cycles = random.uniform(1, 300);
    arch.burst_beats = random.uniform(1, 64);
    expect_parts_add_up(time_of(*engine, compile(make_random_layer(seed, arch).graph, arch)));
  }
}

// Cycles in which the commands of a bus move a beat, counted command by command.
template <typename Fields>
std::uint64_t beats_of(const Program& program, Unit unit) {
  std::uint64_t beats = 0;
  const CommandStream stream = program.stream(unit);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const DramTransfer transfer = dram_transfer(stream.fields<Fields>(i), program.arch);
    beats += transfer.runs * transfer.run_beats;
  }
  return beats;
}

TEST(Limits, AnOccupiedBusMovesABeatOrWaitsForABurst) {
  const auto engine = make_systemc_engine();
  const std::vector<ArchConfig> configs = shipped_configs();
  std::uint64_t waits = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = shrink_memories(configs[seed % configs.size()], random);
    arch.outstanding_bursts = random.uniform(1, 4);
    const Program program = compile(make_random_layer(seed, arch).graph, arch);
    const RunAccount run = time_of(*engine, program);
    std::array<std::uint64_t, kUnits> work{};
    for (const LayerAccount& layer : run.layers) {
      for (std::size_t u = 0; u < kUnits; ++u) {
        EXPECT_LE(layer.busy.waits[u], layer.busy.units[u]);
        work[u] += layer.busy.units[u] - layer.busy.waits[u];
        waits += layer.busy.waits[u];
      }
    }
    EXPECT_EQ(work[static_cast<std::size_t>(Unit::kLoad)], beats_of<Load>(program, Unit::kLoad));
    EXPECT_EQ(work[static_cast<std::size_t>(Unit::kStore)], beats_of<Store>(program, Unit::kStore));
  }
  EXPECT_GT(waits, 10'000u);
}

// Another witness of the path: with a latency longer by one, every chain of commands with n
// latencies takes n cycles longer, so a run whose path has n of them takes at least that.
TEST(Limits, RunTakesACycleLongerForEachLatencyOfItsPath) {
  const auto engine = make_systemc_engine();
  const std::vector<ArchConfig> configs = shipped_configs();
  std::uint64_t latencies = 0;
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = shrink_memories(configs[seed % configs.size()], random);
    arch.outstanding_bursts = 256;  // so that the path has whole latencies
    Program program = compile(make_random_layer(seed, arch).graph, arch);
    if (program.layers.size() != 1) continue;  // windows would cut latencies
    const RunAccount run = time_of(*engine, program);
    const auto latency = static_cast<std::uint64_t>(arch.dram_latency_cycles);
    const std::uint64_t cycles = part(run.layers[0], PathPart::kDramLatency);
    EXPECT_EQ(cycles % latency, 0u);
    program.arch.dram_latency_cycles += 1;
    const std::uint64_t longer = time_of(*engine, program).total_cycles - run.total_cycles;
    EXPECT_GE(longer, cycles / latency);
    latencies += cycles / latency;
    exact += longer == cycles / latency ? 1 : 0;
  }
  EXPECT_GT(latencies, 500u);
  EXPECT_GT(exact, 40);
}

// The fields of which one, doubled, should help a layer with this limit.
std::vector<std::int64_t ArchConfig::*> remedies(const LimitedBy& limit, const ArchConfig& arch) {
  switch (limit.limiter) {
    case Limiter::kArray:
      if (limit.name == "bubbles") return {};  // more rows: longer folds
      return {&ArchConfig::array_rows, &ArchConfig::array_cols};
    case Limiter::kReadBus:
      if (arch.bus_bytes >=
          (limit.name == "weights" ? arch.weight_word_bytes() : arch.array_rows)) {
        return {};
      }
      return {&ArchConfig::bus_bytes};
    case Limiter::kWriteBus:
      if (arch.bus_bytes >= arch.array_cols) return {};  // a beat is a whole word
      return {&ArchConfig::bus_bytes};
    case Limiter::kPost:
      return {&ArchConfig::array_cols};
    case Limiter::kDependence:
      return {};
  }
  return {};
}

// The busy share of the busiest unit but the limiter's.
double next_busy(const LayerAccount& layer, Limiter limiter) {
  constexpr std::size_t kUnitOf[] = {1, 0, 3, 2, kUnits};
  std::uint64_t most = 0;
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (u != kUnitOf[static_cast<std::size_t>(limiter)]) most = std::max(most, layer.busy.units[u]);
  }
  return static_cast<double>(most) / static_cast<double>(layer.cycles());
}

struct Outcomes {
  int helped = 0;      // by at least a third
  int next_limit = 0;  // not helped that much: another unit is busy in two thirds of the cycles
  int others = 0;
};

// Counts the layers that one limiter has more than nine tenths of, by what its remedy does.
void try_remedies(Engine& engine, const Graph& graph, const ArchConfig& arch,
                  std::array<Outcomes, kLimiters>& outcomes) {
  const Program program = compile(graph, arch);
  const RunAccount run = time_of(engine, program);
  std::vector<std::pair<std::int64_t ArchConfig::*, RunAccount>> doubled;
  const auto with_doubled = [&](std::int64_t ArchConfig::*field) -> const RunAccount& {
    const auto it = std::find_if(doubled.begin(), doubled.end(),
                                 [&](const auto& entry) { return entry.first == field; });
    if (it != doubled.end()) return it->second;
    ArchConfig changed = arch;
    changed.*field *= 2;
    doubled.emplace_back(field, time_of(engine, compile(graph, changed)));
    return doubled.back().second;
  };
  for (std::size_t l = 0; l < run.layers.size(); ++l) {
    const LayerAccount& layer = run.layers[l];
    const LimitedBy limit = limited_by(layer.path.cycles);
    if (10 * limit.path_cycles <= 9 * layer.cycles()) continue;
    const auto fields = remedies(limit, arch);
    if (fields.empty()) continue;
    std::uint64_t least = layer.cycles();
    for (const auto field : fields) {
      least = std::min(least, with_doubled(field).layers[l].cycles());
    }
    Outcomes& outcome = outcomes[static_cast<std::size_t>(limit.limiter)];
    if (3 * least <= 2 * layer.cycles()) {
      ++outcome.helped;
    } else if (3 * next_busy(layer, limit.limiter) > 2) {
      ++outcome.next_limit;
    } else {
      ++outcome.others;
      std::cout << arch.name << " bus " << arch.bus_bytes << ", " << program.layers[l].name << ": "
                << limit.name << ", " << layer.cycles() << " -> " << least << " cycles\n";
    }
  }
}

TEST(Limits, DoublingWhatLimitsALayerTakesAThirdOffUnlessAnotherUnitIsNearlyAsBusy) {
  const auto engine = make_systemc_engine();
  std::array<Outcomes, kLimiters> outcomes;
  for (const char* name : {"vgg8", "alexnet", "vgg16"}) {
    const Workload workload = load_workload("models/workloads/" + std::string(name) + ".yaml");
    for (ArchConfig arch : shipped_configs()) {
      if (workload.graph.name == "vgg16" && arch.array_rows < 16) continue;  // takes long
      for (int narrower = 0; narrower < 3 && arch.bus_bytes >= 4; ++narrower, arch.bus_bytes /= 2) {
        try_remedies(*engine, workload.graph, arch, outcomes);
      }
    }
  }
  for (std::size_t i = 0; i < kLimiters; ++i) {
    std::cout << "limiter " << i << ": " << outcomes[i].helped << " helped, "
              << outcomes[i].next_limit << " have a next limit, " << outcomes[i].others
              << " neither\n";
  }
  const Outcomes& array = outcomes[static_cast<std::size_t>(Limiter::kArray)];
  const Outcomes& read_bus = outcomes[static_cast<std::size_t>(Limiter::kReadBus)];
  const Outcomes& write_bus = outcomes[static_cast<std::size_t>(Limiter::kWriteBus)];
  EXPECT_EQ(read_bus.others + write_bus.others, 0);
  EXPECT_GT(write_bus.helped, 2);
  EXPECT_GT(read_bus.helped, 20);
  // A larger array is not always a faster one: its folds may have too few pixels or channels.
  EXPECT_GT(array.helped, 12 * array.others);
  EXPECT_GT(array.helped, 100);
}

// The layer of the table that blamed acc_free for 73.7%.
TEST(Limits, FirstConvolutionOfVgg16OnANarrowBusIsLimitedByTheWriteBus) {
  const auto engine = make_systemc_engine();
  const Workload workload = load_workload("models/workloads/vgg16.yaml");
  ArchConfig arch = load_arch_config("configs/pe32x32.yaml");
  arch.bus_bytes = 8;
  const LayerAccount narrow = time_of(*engine, compile(workload.graph, arch)).layers[0];
  EXPECT_EQ(limited_by(narrow.path.cycles).name, "write_bus");
  EXPECT_GT(limiter_busy(narrow), 0.98);
  arch.bus_bytes = 16;
  const LayerAccount wide = time_of(*engine, compile(workload.graph, arch)).layers[0];
  EXPECT_LT(1.95 * static_cast<double>(wide.cycles()), static_cast<double>(narrow.cycles()));
}

}  // namespace
}  // namespace qsim
