// `verify_networks`: random networks with branches, compiled, through the interpreter, SystemC, the
// recurrence and the RTL, compared with each other and with golden; or one workload file.
// It has verify_rtl's options --programs (here networks), --seed, --configs, --no-rtl, --variant
// and --cxx, in one process; --workload FILE runs that network alone, on each configuration.
// Exit codes: 0 ok, 2 usage, 3 bad input, 5 mismatch.
#include <algorithm>
#include <iostream>

#include "compiler/workload/workload.h"
#include "core/error.h"
#include "tests/rtl/networks/network_case.h"
#include "tests/rtl/programs/witnesses.h"

namespace qsim {
namespace {

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
