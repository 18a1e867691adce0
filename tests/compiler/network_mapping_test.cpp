// --dataflow auto: the best dataflow of each layer, and never worse than one dataflow for all.
#include "compiler/lowering/network_mapping.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/lowering/objective.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "report/analysis/energy.h"
#include "sim/recurrence/program_times.h"
#include "tests/compiler/random_network.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

// What a report shows of a whole program, from its commands: its last STORE's done, and its bytes
// of data or its energy.
Score score_of(const Program& program, const MapperOptions& options) {
  Score score;
  for (const std::vector<CommandTime>& unit : command_times(program)) {
    for (const CommandTime& time : unit) {
      score.cycles = std::max(score.cycles, static_cast<std::int64_t>(time.done));
    }
  }
  score.commands = static_cast<std::int64_t>(program.command_count());
  EnergyEvents events;
  for (const EnergyEvents& layer : energy_events(program)) events += layer;
  if (options.objective == Objective::kEnergy || options.objective == Objective::kEdp) {
    score.amount = total_energy(events, *options.energy, program.arch);
  } else {
    score.amount = static_cast<double>((events.dram_read_bits + events.dram_write_bits) / 8);
  }
  return score;
}

std::size_t dataflows_in(const Program& program) {
  std::array<bool, kDataflows> found{};
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = 0; i < executes.size(); ++i) {
    found[executes.fields<Execute>(i).dataflow] = true;
  }
  return static_cast<std::size_t>(std::count(found.begin(), found.end(), true));
}

CompileOptions options_of(Random& random, Objective objective) {
  CompileOptions options;
  options.mapper.objective = objective;
  const double slacks[] = {0, 0.0005, 0.05};
  options.mapper.slack = slacks[random.uniform(0, 2)];
  options.mapper.energy = std::make_shared<const EnergyTable>(testing::random_energy_table(random));
  return options;
}

TEST(NetworkMapping, AutoIsNeverWorseThanOneDataflowForAllLayers) {
  std::int64_t compared = 0;
  std::int64_t mixed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const Graph graph = testing::random_network(seed, random, random.uniform(1, 4), 10);
    CompileOptions options = options_of(random, static_cast<Objective>(seed % 4));
    const MapperOptions& mapper = options.mapper;
    std::vector<Score> pure;
    for (std::size_t d = 0; d < kDataflows; ++d) {
      options.dataflow = static_cast<Dataflow>(d);
      pure.push_back(score_of(compile(graph, arch, options), mapper));
    }
    options.dataflow.reset();
    options.mixes_dataflows = true;
    const Program program = compile(graph, arch, options);
    const Score best = score_of(program, mapper);
    if (dataflows_in(program) > 1) ++mixed;
    if (mapper.objective == Objective::kCycles) {  // the slack counts once, not by layer and again
      CompileOptions strict = options;
      strict.mapper.slack = 0;
      EXPECT_LE(best.cycles,
                most_cycles(score_of(compile(graph, arch, strict), mapper).cycles, mapper));
    }
    for (const Score& other : pure) {
      ++compared;
      // Its cycles are within the slack of what any of them takes, and of those that are within
      // the slack of it, none moves less.
      EXPECT_LE(best.cycles, most_cycles(other.cycles, mapper));
      const bool is_rival = other.cycles <= best.cycles || mapper.objective != Objective::kCycles;
      // A sum over commands rounds otherwise than a sum over layers does.
      if (is_rival) {
        EXPECT_LE(value_of(best, mapper.objective),
                  value_of(other, mapper.objective) * (1 + 1e-12));
      }
      // Bytes are exact numbers, so ties count: no program is dominated in cycles and bytes.
      const bool is_exact =
          mapper.objective == Objective::kCycles || mapper.objective == Objective::kBytes;
      if (is_exact && is_rival) {
        EXPECT_LE(rank_of(best, mapper.objective), rank_of(other, mapper.objective));
      }
    }
  }
  EXPECT_EQ(compared, 1200);
  EXPECT_GT(mixed, 40);
  RecordProperty("mixed_programs", std::to_string(mixed));
}

// VGG-8 has fewer commands with input_stationary there, and more cycles and bytes than otherwise.
TEST(NetworkMapping, CommandsThatNoReportShowsDoNotMakeAutoDominated) {
  ArchConfig arch = load_arch_config("configs/pe16x16.yaml");
  arch.bus_bytes = 8;
  const Graph graph = load_workload("models/workloads/vgg8.yaml").graph;
  CompileOptions options;
  const auto score = [&] { return score_of(compile(graph, arch, options), options.mapper); };
  std::vector<Score> pure;
  for (std::size_t d = 0; d < kDataflows; ++d) {
    options.dataflow = static_cast<Dataflow>(d);
    pure.push_back(score());
  }
  options.dataflow.reset();
  options.mixes_dataflows = true;
  const Score best = score();
  for (const Score& other : pure) {
    EXPECT_LE(best.cycles, other.cycles);
    EXPECT_LE(best.amount, other.amount);
  }
  // The case is one where the number of commands, at 32 bytes each, would decide otherwise.
  const Score& flow = pure[static_cast<std::size_t>(Dataflow::kInputStationary)];
  EXPECT_GT(flow.amount, best.amount);
  EXPECT_LT(flow.amount + 32.0 * static_cast<double>(flow.commands),
            best.amount + 32.0 * static_cast<double>(best.commands));
}

// A given mapping stays, whatever the others become.
TEST(NetworkMapping, AutoLeavesGivenMappingsAlone) {
  Random random(3);
  const ArchConfig arch = testing::small_arch(8, 8);
  const Graph graph = testing::random_network(3, random, 3, 9);
  CompileOptions options;
  const std::vector<LayerMapping> chosen = Compilation(graph, arch, options).mappings();
  options.mixes_dataflows = true;
  options.mapper.objective = Objective::kBytes;
  options.mappings = {chosen[1]};
  const std::vector<LayerMapping> mixed = Compilation(graph, arch, options).mappings();
  ASSERT_EQ(mixed.size(), chosen.size());
  EXPECT_EQ(mixed[1].mapping, chosen[1].mapping);
}

TEST(NetworkMapping, EachSearchIsToldBeforeItBeginsAndEqualLayersAreSearchedOnce) {
  const ArchConfig arch = testing::small_arch(8, 8);
  const Graph graph = testing::GraphBuilder(1, testing::picture(1, 6, 6, 8))
                          .conv(8, testing::window(3, 1, 1))
                          .conv(8, testing::window(3, 1, 1))
                          .conv(16, testing::window(3, 1, 1))
                          .build();
  CompileOptions options;
  std::vector<std::int64_t> told;
  options.on_progress = [&](const MappingProgress& progress) {
    EXPECT_EQ(progress.layers, 3);
    EXPECT_EQ(progress.layer, graph.layers[static_cast<std::size_t>(progress.index)].name);
    told.push_back(progress.index);
  };
  compile(graph, arch, options);
  EXPECT_EQ(told, (std::vector<std::int64_t>{0, 2}));
  options.mixes_dataflows = true;
  told.clear();
  compile(graph, arch, options);
  EXPECT_EQ(told, (std::vector<std::int64_t>{0, 0, 2, 2}));  // weight_stationary is known
}

// On a clock that goes on by a second at each look: the first search ends after half of the budget,
// the second one after all of it.
TEST(NetworkMapping, EachSearchHasAnEqualPartOfWhatIsLeftOfTheBudget) {
  const ArchConfig arch = testing::small_arch(8, 8);
  const Graph graph = testing::GraphBuilder(1, testing::picture(1, 16, 16, 40))
                          .conv(48, testing::window(3, 1, 1))
                          .conv(64, testing::window(3, 1, 1))
                          .build();
  CompileOptions options;
  options.mapper.search = MappingSearch::kFull;
  options.budget_seconds = 20;
  double now = 0;
  options.clock = [&] { return now++; };
  std::vector<double> begins;
  options.on_progress = [&](const MappingProgress& progress) {
    if (progress.timed == 0) begins.push_back(now);
  };
  const Compilation compilation(graph, arch, options);
  ASSERT_EQ(begins.size(), 2u);
  EXPECT_LE(begins[0], 3);
  EXPECT_GE(begins[1], 11);
  EXPECT_LE(begins[1], 14);
  EXPECT_GE(now, 21);
  EXPECT_LE(now, 24);
  for (const auto& [key, mapped] : *options.known) EXPECT_FALSE(mapped.is_complete);
}

}  // namespace
}  // namespace qsim
