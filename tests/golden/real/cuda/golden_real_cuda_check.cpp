// golden_real_cuda_check: compares the float executor on a GPU with golden/graph/real on random
// networks, bit for bit, and times it. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"
#include "tests/golden/real/cuda/check_commands.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares the float executor on a GPU with golden/graph/real");
  golden_test::RealRandomOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random networks");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command->add_flag("--small", random.small, "small networks alone, for sanitizers");
  golden_test::ChosenCases chosen(*random_command);
  int runs = 21;
  CLI::App* bench_command = app.add_subcommand("bench", "times of VGG-8");
  bench_command->add_option("--runs", runs)->check(CLI::PositiveNumber);
  return golden_test::run_check(app, argc, argv, [&] {
    if (*random_command) return golden_test::check_real_random(random, chosen);
    return golden_test::bench_real(runs);
  });
}
