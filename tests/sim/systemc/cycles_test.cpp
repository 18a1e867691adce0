// What only the clock shows: the cycles that the shipped networks take. Bytes stay the same
// whatever the mapper and the schedule decide, so no other test sees these numbers grow.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
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

// The cycles of this version. A change that needs more of them is a regression, or has a reason
// that belongs in CHANGELOG.md; one that needs fewer may lower them here.
TEST(Cycles, OfShippedNetworksDoNotGrow) {
  struct Budget {
    const char* workload;
    const char* config;
    std::uint64_t cycles;
  };
  constexpr Budget kBudgets[] = {
      {"vgg8", "pe4x4", 10'716'045},     {"vgg8", "pe8x8", 2'753'238},
      {"vgg8", "pe16x16", 724'561},      {"vgg8", "pe16x32", 364'116},
      {"vgg8", "pe32x32", 201'420},      {"vgg8", "tpu128x128", 40'304},
      {"vgg16", "pe16x16", 67'780'831},  {"alexnet", "pe16x16", 6'296'275},
      {"conv_odd", "pe16x32", 45'352},   {"maxpool_alone", "pe16x16", 29'228},
      {"fc_batch16", "pe4x4", 4'200'688}};
  const auto engine = make_systemc_engine();
  for (const Budget& budget : kBudgets) {
    const Workload workload =
        load_workload("models/workloads/" + std::string(budget.workload) + ".yaml");
    const ArchConfig arch = load_arch_config("configs/" + std::string(budget.config) + ".yaml");
    const RunAccount run = time_of(*engine, compile(workload.graph, arch));
    EXPECT_LE(run.total_cycles, budget.cycles) << budget.workload << " on " << budget.config;
  }
}

}  // namespace
}  // namespace qsim
