// report/analysis/operand_accesses.h: by hand on the sample program, and against counts made
// elsewhere.
#include "report/analysis/operand_accesses.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/workload/random_layer.h"
#include "report/analysis/dram_bytes.h"
#include "report/analysis/energy_events.h"
#include "sim/recurrence/program_times.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

TEST(OperandAccesses, OfALayerCountFromTheBeginningOfItsWindow) {
  const Program program = sample_program();
  const RunResult result = sample_result();
  const std::vector<OperandAccesses> layers = operand_accesses(program, result.times);
  ASSERT_EQ(layers.size(), 2u);
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const CommandTime& execute = result.times[static_cast<std::size_t>(Unit::kExecute)][i];
    const CommandTime& store = result.times[static_cast<std::size_t>(Unit::kStore)][i];
    EXPECT_EQ(layers[i].sram_psums.first_cycle, execute.start - begin);
    EXPECT_EQ(layers[i].sram_psums.last_cycle, execute.done - 1 - begin);
    EXPECT_EQ(layers[i].dram_ofmap.first_cycle, store.start - begin);
    EXPECT_EQ(layers[i].dram_ofmap.last_cycle, store.done - 1 - begin);
    EXPECT_EQ(layers[i].dram_weights, AccessWindow());  // it loads activations alone
    begin = store.done;
  }
}

TEST(OperandAccesses, AreThoseThatEnergyAndDramBytesCount) {
  ArchConfig arch;
  arch.array_rows = 8;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = compile(make_random_layer(seed, arch).graph, arch);
    const std::vector<OperandAccesses> accesses = operand_accesses(program, command_times(program));
    const std::vector<EnergyEvents> events = energy_events(program);
    const std::vector<LayerDramBytes> bytes = dram_bytes_of_commands(program);
    ASSERT_EQ(accesses.size(), events.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      EXPECT_EQ(accesses[i].sram_ifmap.elems * 8, events[i].activation.read_bits);
      EXPECT_EQ(accesses[i].sram_weights.elems * 8, events[i].weight.read_bits);
      EXPECT_EQ(accesses[i].sram_psums.elems * 32, events[i].accumulator.write_bits);
      EXPECT_EQ(accesses[i].dram_ofmap.elems, bytes[i].written);
      // Parameters are read too.
      EXPECT_LT(accesses[i].dram_ifmap.elems + accesses[i].dram_weights.elems, bytes[i].read);
      EXPECT_GT(accesses[i].sram_psums.elems, 0u);
    }
  }
}

}  // namespace
}  // namespace qsim
