// wall_seconds of the SystemC engine on whole networks: with data, and time only, which is what the
// simulation kernel costs. One thread, median of 9. Arguments: config and workload files, --figures
// for JSON, --path NAME for another vector path than the best.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bench/common/figures.h"
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

constexpr int kRepeats = 9;

std::vector<double> wall_seconds(Engine& engine, const Program& program, const Tensor& input,
                                 const RunOptions& options) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    seconds.push_back(engine.run(program, input, options).wall_seconds);
  }
  return seconds;
}

void print_figures(const std::string& name, const bench::Figure& with_data,
                   const bench::Figure& time_only, const Program& program, const RunAccount& run) {
  bench::print_figure(with_data);
  bench::print_figure(time_only);
  bench::print_figure(bench::count_figure(
      name + "/commands", static_cast<double>(program.command_count()), "commands"));
  bench::print_figure(
      bench::count_figure(name + "/cycles", static_cast<double>(run.total_cycles), "cycles"));
}

void run_network(Engine& engine, const std::string& path, const char* config, const char* file,
                 bool figures) {
  const ArchConfig arch = load_arch_config(config);
  const Workload workload = load_workload(file);
  const Program program = compile(workload.graph, arch);
  const RunResult result = engine.run(program, workload.input, {});
  const RunAccount run = account(program, result.times);
  const std::string name = "systemc/" + workload.graph.name + "/" + arch.name + path;
  const bench::Figure with_data =
      bench::time_figure(name + "/with_data", wall_seconds(engine, program, workload.input, {}));
  const bench::Figure time_only = bench::time_figure(
      name + "/time_only", wall_seconds(engine, program, workload.input, {.move_data = false}));
  if (figures) return print_figures(name, with_data, time_only, program, run);
  const auto commands = static_cast<double>(program.command_count());
  std::printf("%s on %s: %.0f commands, %llu cycles, utilization %.1f%%\n",
              workload.graph.name.c_str(), arch.name.c_str(), commands,
              static_cast<unsigned long long>(run.total_cycles),
              100 * utilization(run.macs, run.total_cycles, arch));
  std::printf("  with data %.3f ms (%.1f GMAC/s), time only %.3f ms (%.0f ns a command)\n",
              with_data.value * 1e3, static_cast<double>(run.macs) / with_data.value * 1e-9,
              time_only.value * 1e3, time_only.value / commands * 1e9);
}

struct Arguments {
  bool figures = false;
  std::optional<VectorPath> path;
  std::vector<const char*> files;
};

// Absent: the arguments make no sense.
std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  arguments.figures = bench::take_figures_option(argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--path") != 0) {
      arguments.files.push_back(argv[i]);
      continue;
    }
    const char* name = i + 1 < argc ? argv[++i] : "";
    const auto* path = std::ranges::find(kVectorPaths, name, vector_path_name);
    if (path == kVectorPaths.end()) return std::nullopt;
    arguments.path = *path;
  }
  if (arguments.files.size() < 2) return std::nullopt;
  return arguments;
}

void run(const Arguments& arguments) {
  const auto engine = make_systemc_engine({arguments.path});
  std::string path;
  if (arguments.path) path = "/" + std::string(vector_path_name(*arguments.path));
  for (std::size_t i = 1; i < arguments.files.size(); ++i) {
    run_network(*engine, path, arguments.files[0], arguments.files[i], arguments.figures);
  }
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const std::optional<qsim::Arguments> arguments = qsim::read_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(stderr,
                 "usage: systemc_network_bench [--figures] [--path NAME] CONFIG.yaml WORKLOAD.yaml "
                 "...\n");
    return 2;
  }
  try {
    qsim::run(*arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
