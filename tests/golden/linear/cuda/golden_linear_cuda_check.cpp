// golden_linear_cuda_check: compares the linear layers on a GPU with those on the CPU, bit for bit,
// and times them. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares linear layers on a GPU with those on the CPU");
  golden_test::RandomLinearOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random layers");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first layer");
  random_command->add_option("--most-rows", random.most_rows)->check(CLI::PositiveNumber);
  random_command->add_option("--most-features", random.most_features)->check(CLI::PositiveNumber);
  golden_test::ChosenCases chosen(*random_command);
  golden_test::BenchLinearOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times with cold caches");
  bench_command->add_option("--only", bench.only, "cases whose name has this");
  bench_command->add_option("--stages", bench.stages, "of the pipeline; 0: chosen");
  bench_command->add_option("--kernel", bench.kernel, "rows, many_rows, batch, hopper or plain")
      ->check(CLI::IsMember({"rows", "many_rows", "batch", "hopper", "plain"}));
  return golden_test::run_check(app, argc, argv, [&] {
    if (*random_command) return golden_test::check_random_linear(random, chosen);
    return golden_test::bench_linear(bench);
  });
}
