// golden_train_gradient_cuda_check: compares the gradients of training layers on a GPU with plain
// loops in float64, or bit for bit with golden/kernels/train, and times them. Exits 77 where there
// is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"
#include "tests/golden/train/cuda/gradient_commands.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares the gradients of training layers on a GPU with plain loops");
  golden_test::RandomGradients random;
  CLI::App* random_command = app.add_subcommand("random", "random layers");
  random_command->add_option("--cases", random.cases)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command->add_option("--plant", random.plant, "what the GPU is given otherwise")
      ->check(CLI::IsMember({"pads", "zero_point", "scale", "passes"}));
  golden_test::ChosenCases chosen(*random_command);
  golden_test::BenchGradients bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times with cold caches");
  bench_command->add_option("--only", bench.only, "cases whose name has this");
  return golden_test::run_check(app, argc, argv, [&] {
    bool same = true;
    if (*random_command) same = golden_test::check_random_gradients(random, chosen);
    if (*bench_command) golden_test::bench_gradients(bench);
    const ExitCode result = same ? ExitCode::kOk : ExitCode::kMismatch;
    return *random_command ? chosen.end(result) : result;
  });
}
