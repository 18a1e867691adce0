// wall_seconds of the SystemC engine on whole networks: with data, and time only, which is what the
// simulation kernel costs. One thread, median of 9. Arguments: config and workload files.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "compiler/compile.h"
#include "compiler/workload/workload.h"
#include "core/cycle_accounting.h"
#include "core/io/arch_config_file.h"
#include "sim/systemc_engine/systemc_engine.h"

namespace qsim {
namespace {

constexpr int kRepeats = 9;

double median_wall_seconds(Engine& engine, const Program& program, const Tensor& input,
                           const RunOptions& options) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    seconds.push_back(engine.run(program, input, options).wall_seconds);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepeats / 2, seconds.end());
  return seconds[kRepeats / 2];
}

void run_network(Engine& engine, const char* config, const char* file) {
  const ArchConfig arch = load_arch_config(config);
  const Workload workload = load_workload(file);
  const Program program = compile(workload.graph, arch);
  const RunResult result = engine.run(program, workload.input, {});
  const RunAccount run = account(program, result.times);
  const double with_data = median_wall_seconds(engine, program, workload.input, {});
  const double time_only =
      median_wall_seconds(engine, program, workload.input, {.move_data = false});
  const auto commands = static_cast<double>(program.command_count());
  std::printf("%s on %s: %.0f commands, %llu cycles, utilization %.1f%%\n",
              workload.graph.name.c_str(), arch.name.c_str(), commands,
              static_cast<unsigned long long>(run.total_cycles),
              100 * utilization(run.macs, run.total_cycles, arch));
  std::printf("  with data %.3f ms (%.1f GMAC/s), time only %.3f ms (%.0f ns a command)\n",
              with_data * 1e3, static_cast<double>(run.macs) / with_data * 1e-9, time_only * 1e3,
              time_only / commands * 1e9);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: systemc_network_bench CONFIG.yaml WORKLOAD.yaml ...\n");
    return 2;
  }
  try {
    const auto engine = qsim::make_systemc_engine();
    for (int i = 2; i < argc; ++i) qsim::run_network(*engine, argv[1], argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
