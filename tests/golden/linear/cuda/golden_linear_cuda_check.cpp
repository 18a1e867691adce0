// golden_linear_cuda_check: compares the linear layers on a GPU with those on the CPU, bit for bit,
// and times them. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

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
  golden_test::RandomLinearOptions int8;
  int8.most_rows = 40;
  CLI::App* int8_command = app.add_subcommand("int8_random", "random layers with int8 activations");
  int8_command->add_option("--count", int8.count)->check(CLI::PositiveNumber);
  int8_command->add_option("--seed", int8.seed, "of the first layer");
  int8_command->add_option("--most-rows", int8.most_rows)->check(CLI::PositiveNumber);
  int8_command->add_option("--most-features", int8.most_features)->check(CLI::PositiveNumber);
  golden_test::BenchLinearOptions int8_bench;
  CLI::App* int8_bench_command = app.add_subcommand("int8_bench", "their times with cold caches");
  int8_bench_command->add_option("--only", int8_bench.only, "cases whose name has this");
  int8_bench_command->add_flag("--late", int8_bench.late,
                               "read weights only after the launch before");
  golden_test::BenchLinearOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times with cold caches");
  bench_command->add_option("--only", bench.only, "cases whose name has this");
  bench_command->add_option("--stages", bench.stages, "of the pipeline; 0: chosen");
  bench_command->add_flag("--late", bench.late, "read weights only after the launch before");
  return golden_test::run_check(app, argc, argv, [&] {
    if (*int8_command) return golden_test::check_random_int8(int8);
    if (*int8_bench_command) return golden_test::bench_int8(int8_bench);
    if (*random_command) return golden_test::check_random_linear(random);
    return golden_test::bench_linear(bench);
  });
}
