// How fast the Verilated RTL runs: Mcycles/s and GMAC/s of a whole network on each configuration,
// one thread, median of 9 runs, without building and loading the model. Arguments: a workload file,
// then configuration files, and --figures for JSON; a model that is not there yet is built first.
#include <cstdio>
#include <vector>

#include "bench/common/figures.h"
#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "report/analysis/cycle_accounting.h"
#include "rtl/engine/rtl_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
namespace {

constexpr int kRepeats = 9;

void run_config(Engine& engine, const Workload& workload, const char* config, bool figures) {
  const Program program = compile(workload.graph, load_arch_config(config));
  RunResult result = engine.run(program, workload.input, {});
  const RunAccount run = account(program, result.times);
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    seconds.push_back(engine.run(program, workload.input, {}).wall_seconds);
  }
  const std::string name = "rtl/" + workload.graph.name + "/" + program.arch.name;
  const bench::Figure wall = bench::time_figure(name + "/wall", seconds);
  if (figures) {
    bench::print_figure(wall);
    bench::print_figure(
        bench::count_figure(name + "/cycles", static_cast<double>(run.total_cycles), "cycles"));
    return;
  }
  const double median = wall.value;
  std::printf("%s on %-10s %9llu cycles in %.3f s: %6.2f Mcycles/s, %6.2f GMAC/s\n",
              workload.graph.name.c_str(), program.arch.name.c_str(),
              static_cast<unsigned long long>(run.total_cycles), median,
              static_cast<double>(run.total_cycles) / median * 1e-6,
              static_cast<double>(run.macs) / median * 1e-9);
  std::fflush(stdout);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: rtl_engine_bench [--figures] WORKLOAD.yaml CONFIG.yaml ...\n");
    return 2;
  }
  try {
    qsim::rtl::RtlEngineOptions options;
    options.model.on_build = [](const std::string& line) {
      std::fprintf(stderr, "%s\n", line.c_str());
    };
    const auto engine = qsim::rtl::make_rtl_engine(options);
    const qsim::formats::Workload workload = qsim::formats::load_workload(argv[1]);
    for (int i = 2; i < argc; ++i) qsim::run_config(*engine, workload, argv[i], figures);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
