// golden_train_forward_cuda_check: compares the forward calls of training layers on a GPU with
// those on the CPU, bit for bit, and times them. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"
#include "tests/golden/train/cuda/forward_check_commands.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares the forward calls of training layers on a GPU with those on the CPU");
  golden_test::RandomForwardOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random calls");
  random_command->add_option("--cases", random.cases, "of each call")->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command->add_option("--only", random.only, "calls whose name has this");
  golden_test::ChosenCases chosen(*random_command);
  golden_test::BenchForwardOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times with cold caches");
  bench_command->add_option("--only", bench.only, "cases whose name has this");
  return golden_test::run_check(app, argc, argv, [&] {
    if (*random_command) return golden_test::check_random_forward(random, chosen);
    return golden_test::bench_forward(bench);
  });
}
