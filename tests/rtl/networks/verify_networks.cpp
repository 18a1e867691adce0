// `verify_networks`: random networks with branches, compiled, through the interpreter, SystemC, the
// recurrence and the RTL, compared with each other and with golden; or one workload file.
// It has verify_rtl's options --programs (here networks), --seed, --configs, --no-rtl, --variant
// and --cxx, in one process; --workload FILE runs that network alone, on each configuration.
// Exit codes: 0 ok, 2 usage, 3 bad input, 5 mismatch.

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "compiler/compile.h"
#include "core/base/error.h"
#include "core/network/graph.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/golden/random_dag.h"
#include "tests/rtl/programs/differential.h"
#include "tests/rtl/programs/witnesses.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

// A network, compiled, through every engine and golden: what a campaign of random networks
// compares.
struct NetworkCase {
  Graph graph;
  RandomCase program;  // with the name and the input
};

// What came of one network. `difference` is "" where every engine agrees in every byte, every
// engine with time in every command's start, free and done, and every ofmap is golden's.
struct CaseResult {
  std::string difference;
  std::uint64_t cycles = 0;
  bool shares_dram = false;  // some tensors have the same bytes
};

std::string difference_from_golden(const NetworkCase& made) {
  const Program& program = made.program.program;
  const std::vector<Tensor> golden = golden::run_graph(made.graph, made.program.input);
  const RunResult run = make_program_interpreter()->run(program, made.program.input, {});
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    if (run.ofmaps[i].bytes != golden[static_cast<std::size_t>(layer.graph_layer)].bytes) {
      return "layer " + layer.name + " differs from golden's";
    }
  }
  return "";
}

bool shares_dram(const Program& program) {
  for (std::size_t a = 0; a < program.layers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const DramTensor& x = program.layers[a].ofmap;
      const DramTensor& y = program.layers[b].ofmap;
      if (x.address < y.address + y.size_bytes() && y.address < x.address + x.size_bytes()) {
        return true;
      }
    }
  }
  return false;
}

// The graph compiled with tensors that share bytes of DRAM. Throws Error where the accelerator does
// not run it.
NetworkCase compiled_case(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                          const std::string& name) {
  CompileOptions options;
  options.dram_plan = DramPlan::kLifetime;
  return {graph, {name, compile(graph, arch, options), input}};
}

// A random graph with branches, whose size suits a small array. Nothing where the accelerator does
// not run it.
std::optional<NetworkCase> random_network_case(const ArchConfig& arch, std::uint64_t seed) {
  Random random(seed);
  golden_test::DagOptions options;
  options.operations.shifts = false;
  options.operations.wide_psums = false;
  options.most_steps = 8;
  options.most_channels = 20;
  options.most_batch = 2;
  const Graph graph = golden_test::random_dag(random, options);
  Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
  for (std::byte& byte : input.bytes) byte = static_cast<std::byte>(random.next() >> 56);
  try {
    return compiled_case(graph, input, arch, arch.name + ", seed " + std::to_string(seed));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    return std::nullopt;
  }
}

CaseResult run_network_case(const NetworkCase& made, Differential& differential) {
  CaseResult result;
  result.shares_dram = shares_dram(made.program.program);
  const DifferentialResult compared = differential.check(made.program);
  result.cycles = compared.cycles;
  result.difference =
      compared.difference ? compared.difference->text : difference_from_golden(made);
  return result;
}

struct Tally {
  std::int64_t networks = 0;
  std::int64_t refused = 0;
  std::int64_t sharing = 0;  // with tensors that share bytes of DRAM
  std::uint64_t layers = 0;
  std::uint64_t commands = 0;
  std::uint64_t cycles = 0;
};

void run_one(const NetworkCase& made, Differential& differential, Tally& tally) {
  const CaseResult result = run_network_case(made, differential);
  if (!result.difference.empty()) {
    throw Error(ExitCode::kMismatch, made.program.name + ": " + result.difference);
  }
  ++tally.networks;
  tally.sharing += result.shares_dram ? 1 : 0;
  tally.layers += made.program.program.layers.size();
  tally.commands += made.program.program.command_count();
  tally.cycles += result.cycles;
}

Tally run_random(const VerifyOptions& options, const std::vector<ArchConfig>& configs,
                 Differential& differential) {
  Tally tally;
  for (std::uint64_t seed = options.seed; tally.networks < options.programs; ++seed) {
    for (const ArchConfig& arch : configs) {
      if (tally.networks == options.programs) break;
      const std::optional<NetworkCase> made = random_network_case(arch, seed);
      if (!made) {
        ++tally.refused;
        continue;
      }
      run_one(*made, differential, tally);
      if (tally.networks % 500 == 0) {
        std::cerr << "verify_networks: " << tally.networks << " networks, at seed " << seed
                  << std::endl;
      }
    }
  }
  return tally;
}

Tally run_workload(const std::string& file, const std::vector<ArchConfig>& configs,
                   Differential& differential) {
  Tally tally;
  const Workload workload = load_workload(file);
  for (const ArchConfig& arch : configs) {
    run_one(compiled_case(workload.graph, workload.input, arch, file + " on " + arch.name),
            differential, tally);
  }
  return tally;
}

// Takes "--workload FILE" out of the arguments; "" where it is not there.
std::string take_workload(std::vector<std::string>& arguments) {
  const auto option = std::ranges::find(arguments, "--workload");
  if (option == arguments.end() || option + 1 == arguments.end()) return "";
  const std::string file = *(option + 1);
  arguments.erase(option, option + 2);
  return file;
}

void verify_networks(std::vector<std::string> arguments) {
  const std::string workload = take_workload(arguments);
  VerifyOptions options = parse_verify_options(arguments);
  if (options.jobs != 1 || !options.replay.empty() || options.require_coverage || options.help) {
    throw Error(ExitCode::kUsage,
                "verify_networks takes --programs, --seed, --configs, --no-rtl, --random-dram, "
                "--init-seeds, --variant, --cxx and --workload");
  }
  if (std::ranges::find(arguments, "--configs") == arguments.end()) options.configs = {"dyadic"};
  std::vector<ArchConfig> configs;
  for (const std::string& name : options.configs) configs.push_back(named_config(name));
  prepare_models(options, configs);
  Differential differential(make_witnesses(options));
  const Tally tally = workload.empty() ? run_random(options, configs, differential)
                                       : run_workload(workload, configs, differential);
  std::cout << tally.networks << " networks from seed " << options.seed << " (" << tally.sharing
            << " share DRAM; " << tally.refused << " more refused), " << tally.layers << " layers, "
            << tally.commands << " commands, " << tally.cycles << " cycles\nmismatches: 0"
            << std::endl;
}

}  // namespace

}  // namespace qsim

int main(int argc, char** argv) {
  try {
    qsim::verify_networks(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const qsim::Error& error) {
    std::cerr << "verify_networks: error: " << error.what() << std::endl;
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "verify_networks: internal error: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
