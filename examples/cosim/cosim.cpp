// Co-simulation: the Verilated RTL as a module of a SystemC system, beside the transaction model of
// the same accelerator. Both get the same program at the same time 0; afterwards every command's
// cycles and every layer's bytes are compared. Arguments: configuration and workload files.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "compiler/compile.h"
#include "examples/cosim/rtl_module.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "rtl/engine/rtl_model.h"
#include "sim/systemc/accelerator.h"

namespace {

void print_line(const std::string& line) { std::printf("%s\n", line.c_str()); }

// Prints where the two agree and where not; returns the number of differences.
std::size_t compare(const qsim::Program& program, const qsim::RunResult& model,
                    const qsim::RunResult& rtl) {
  std::size_t differences = 0;
  for (std::size_t u = 0; u < qsim::kUnits; ++u) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < model.times[u].size(); ++i) {
      equal += model.times[u][i] == rtl.times[u][i] ? 1 : 0;
    }
    differences += model.times[u].size() - equal;
    std::printf(
        "%-8s %3zu of %3zu commands start, free their unit and are done in the same cycle\n",
        qsim::kUnitNames[u].data(), equal, model.times[u].size());
  }
  for (std::size_t l = 0; l < program.layers.size(); ++l) {
    const bool same = model.ofmaps[l] == rtl.ofmaps[l];
    differences += same ? 0 : 1;
    std::printf("layer %-16s %8zu bytes of ofmap: %s\n", program.layers[l].name.c_str(),
                model.ofmaps[l].bytes.size(), same ? "equal" : "DIFFERENT");
  }
  std::printf("the last STORE is done at cycle %llu\n",
              static_cast<unsigned long long>(rtl.times[3].back().done));
  return differences;
}

std::size_t co_simulate(const char* config, const char* file) {
  const qsim::formats::Workload workload = qsim::formats::load_workload(file);
  const qsim::Program program =
      qsim::compiler::compile(workload.graph, qsim::formats::load_arch_config(config));

  // The RTL: its model from the build folder or the cache, else built now.
  qsim::rtl::RtlModelOptions options;
  options.on_build = print_line;
  const qsim::rtl::RtlModel library(qsim::rtl::find_or_build_rtl_model(program.arch, options),
                                    qsim::rtl::rtl_parameters(program.arch));
  const std::unique_ptr<qsim::rtl::RtlCore> core = library.make_core();
  RtlModule rtl("rtl", *core, program, workload.input);

  // The transaction model, with memories of its own. Its run() is the simulation of the whole
  // system.
  qsim::sim::Accelerator accelerator("accelerator", qsim::sim::best_vector_path());
  qsim::DramMemory dram(program, workload.input);
  qsim::sim::Scratchpads scratchpads(program.arch);
  qsim::RunResult model;
  model.times = accelerator.run(program, &scratchpads, &dram);
  model.ofmaps = dram.ofmaps();
  return compare(program, model, rtl.result());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cosim CONFIG.yaml WORKLOAD.yaml\n");
    return 2;
  }
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  try {
    return co_simulate(argv[1], argv[2]) == 0 ? 0 : 5;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cosim: %s\n", error.what());
    return 1;
  }
}
