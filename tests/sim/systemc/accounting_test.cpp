// The accounts of engine runs, recomputed from the program and the times by other means: stalls by
// layer, DRAM bytes by layer, and times that break the token rules.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/sim/systemc/hand_program.h"
#include "tests/sim/systemc/random_program.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

StallCycles stalls_of_layers(const RunAccount& run) {
  StallCycles sums{};
  for (const LayerAccount& layer : run.layers) {
    for (std::size_t s = 0; s < kSemaphores; ++s) sums[s] += layer.stall_cycles[s];
  }
  return sums;
}

TEST(Accounting, TheLayersShareTheStallsOfTheArrayTokenByToken) {
  const auto engine = make_systemc_engine();
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  for (const char* config : {"pe4x4", "pe16x16", "tpu128x128"}) {
    SCOPED_TRACE(config);
    const ArchConfig arch = load_arch_config("configs/" + std::string(config) + ".yaml");
    const Program program = compile(workload.graph, arch);
    const RunAccount run = account(program, engine->run(program, {}, {.move_data = false}).times);
    EXPECT_EQ(stalls_of_layers(run), run.units[kExecuteUnit].stall_cycles);
  }
}

TEST(Accounting, EveryLoadAndStoreCountsForItsOwnLayer) {
  const auto engine = make_systemc_engine();
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  const Program program = compile(workload.graph, load_arch_config("configs/pe16x32.yaml"));
  const RunAccount run = account(program, engine->run(program, {}, {.move_data = false}).times);
  std::vector<std::uint64_t> read(program.layers.size()), written(program.layers.size());
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    const auto& load = std::get<Load>(instruction.command.fields);
    read[static_cast<std::size_t>(instruction.origin.layer)] +=
        std::uint64_t{load.groups} * load.runs * load.run_bytes;
  }
  for (const Instruction& instruction : program.stream(Unit::kStore)) {
    const auto& store = std::get<Store>(instruction.command.fields);
    written[static_cast<std::size_t>(instruction.origin.layer)] +=
        std::uint64_t{store.groups} * store.runs * store.run_bytes;
  }
  for (std::size_t l = 0; l < program.layers.size(); ++l) {
    EXPECT_GT(read[l], 0u);
    EXPECT_EQ(run.layers[l].dram_read_bytes, read[l]) << program.layers[l].name;
    EXPECT_EQ(run.layers[l].dram_write_bytes, written[l]) << program.layers[l].name;
  }
}

TEST(Accounting, OfTokensThatComeTogetherTheLowestSemaphoreIsCharged) {
  const auto engine = make_systemc_engine();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 0).signal_mask = 0;
  draft.command(Unit::kLoad, 1).signal_mask = mask_of(kActReady) | mask_of(kWeightReady);
  const Program program = draft.program();
  const RunResult result = engine->run(program, hand_input(), {});
  const RunAccount run = account(program, result.times);
  EXPECT_EQ(run.units[kExecuteUnit].stall_cycles[kActReady], 32u);
  EXPECT_EQ(run.layers[0].stall_cycles[kActReady], 32u);
}

// Each command a cycle later than it could start, with all that follows from it: the total still
// adds up, but no rule explains the cycle.
TEST(Accounting, ALateStartIsAsWrongAsAnEarlyOne) {
  const auto engine = make_systemc_engine();
  const Program program = hand_program();
  const RunResult result = engine->run(program, hand_input(), {});
  ASSERT_NO_THROW(account(program, result.times));
  for (std::size_t u = 0; u < kUnits; ++u) {
    auto times = result.times;
    CommandTime& last = times[u].back();
    ++last.start;
    ++last.free;
    EXPECT_THROW(account(program, times), InternalError) << kUnitNames[u];
  }
}

}  // namespace
}  // namespace qsim
