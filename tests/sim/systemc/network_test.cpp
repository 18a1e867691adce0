// A whole network, compiled, on the SystemC engine: every layer's bytes are the golden's, and every
// cycle is accounted for.
#include <filesystem>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

TEST(SystemcNetwork, Vgg8OnEveryShippedConfigEqualsTheGoldenAndAccountsForItsCycles) {
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  const std::vector<Tensor> golden = golden::run_graph(workload.graph, workload.input);
  const auto engine = make_systemc_engine();
  int configs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (!entry.is_regular_file()) continue;
    SCOPED_TRACE(entry.path().string());
    const Program program = compile(workload.graph, load_arch_config(entry.path()));
    const RunResult result = engine->run(program, workload.input, {});
    ASSERT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t l = 0; l < program.layers.size(); ++l) {
      const auto graph_layer = static_cast<std::size_t>(program.layers[l].graph_layer);
      EXPECT_EQ(result.ofmaps[l].bytes, golden[graph_layer].bytes) << program.layers[l].name;
    }
    const RunAccount run = account(program, result.times);
    EXPECT_GT(run.macs, 0u);
    EXPECT_EQ(run.layers.back().end_cycle, run.total_cycles);
    ++configs;
  }
  EXPECT_GE(configs, 6);
}

}  // namespace
}  // namespace qsim
