// CPU seconds of the recurrence on whole networks, beside the SystemC engine without data, which
// gives the same times. `add`: the commands one by one, decoded before, as a mapper adds them;
// `program`: command_times() of the encoded program. The three take turns, nine rounds, one thread.
// Arguments: config and workload files, --figures for JSON.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "compiler/compile.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "sim/recurrence/program_times.h"
#include "sim/recurrence/recurrence.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

constexpr int kRounds = 9;

struct Samples {
  std::vector<double> add;
  std::vector<double> program;
  std::vector<double> systemc;
  std::vector<double> program_over_systemc;
};

Recurrence idle_machine(const Program& program) {
  TokenCounts initial{};
  for (std::size_t s = 0; s < kSemaphores; ++s) initial[s] = program.semaphores[s].initial;
  return {program.arch, initial};
}

// The commands of all units in an order in which they can be added.
std::vector<Command> commands_in_order(const Program& program) {
  Recurrence recurrence = idle_machine(program);
  std::vector<Command> commands;
  std::array<std::size_t, kUnits> next{};
  for (std::size_t u = 0; commands.size() < program.command_count(); u = (u + 1) % kUnits) {
    const CommandStream stream = program.streams[u];
    while (next[u] < stream.size() && recurrence.can_add(stream.wait_mask(next[u]))) {
      commands.push_back(stream.command(next[u]++));
      recurrence.add(commands.back());
    }
  }
  return commands;
}

Samples measure(Engine& systemc, const Program& program) {
  const std::vector<Command> commands = commands_in_order(program);
  Recurrence recurrence = idle_machine(program);
  Samples samples;
  for (int i = 0; i < kRounds; ++i) {
    samples.add.push_back(bench::cpu_seconds_of([&] {
      recurrence.reset();
      for (const Command& command : commands) recurrence.add(command);
    }));
    std::array<std::vector<CommandTime>, kUnits> times;
    samples.program.push_back(bench::cpu_seconds_of([&] { times = command_times(program); }));
    RunResult result;
    samples.systemc.push_back(
        bench::cpu_seconds_of([&] { result = systemc.run(program, {}, {.move_data = false}); }));
    QSIM_CHECK(times == result.times, "the recurrence and SystemC differ");
    samples.program_over_systemc.push_back(samples.program.back() / samples.systemc.back());
  }
  return samples;
}

void run_network(Engine& systemc, const ArchConfig& arch, const char* file, bool figures) {
  const Workload workload = load_workload(file);
  const Program program = compile(workload.graph, arch);
  Samples samples = measure(systemc, program);
  const std::string name = "recurrence/" + workload.graph.name + "/" + arch.name;
  const bench::Figure add = bench::time_figure(name + "/add", std::move(samples.add));
  const bench::Figure whole = bench::time_figure(name + "/program", std::move(samples.program));
  const bench::Figure model = bench::time_figure(name + "/systemc", std::move(samples.systemc));
  const bench::Figure ratio =
      bench::median_figure(name + "/program_over_systemc", std::move(samples.program_over_systemc),
                           "1", bench::Kind::kRatio);
  if (figures) {
    for (const bench::Figure& figure : {add, whole, model, ratio}) bench::print_figure(figure);
    return;
  }
  const auto commands = static_cast<double>(program.command_count());
  std::printf(
      "%s on %s: %.0f commands; nanoseconds a command: add %.1f, program %.1f, SystemC %.1f\n",
      workload.graph.name.c_str(), arch.name.c_str(), commands, add.value / commands * 1e9,
      whole.value / commands * 1e9, model.value / commands * 1e9);
  std::printf("  %.1f million commands a second; program over SystemC %.3f\n",
              commands / add.value * 1e-6, ratio.value);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: recurrence_bench [--figures] CONFIG.yaml WORKLOAD.yaml ...\n");
    return 2;
  }
  try {
    const auto systemc = qsim::sim::make_systemc_engine();
    const qsim::ArchConfig arch = qsim::formats::load_arch_config(argv[1]);
    for (int i = 2; i < argc; ++i) qsim::run_network(*systemc, arch, argv[i], figures);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
