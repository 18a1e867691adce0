// golden_convert_cuda_check: compares the conversions on a GPU with those on the CPU, bit for bit,
// and times them. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/convert/cuda/check_commands.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares the group conversions on a GPU with golden/kernels/convert");
  golden_test::RandomConversions random;
  CLI::App* random_command = app.add_subcommand("random", "random conversions of each format");
  random_command->add_option("--count", random.count, "cases of each format")
      ->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  golden_test::ChosenCases chosen(*random_command);
  CLI::App* every_command = app.add_subcommand("every_input", "every code of each format");
  CLI::App* large_command = app.add_subcommand("large", "more than 2^31 elements");
  golden_test::BenchConversions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times beside a copy");
  bench_command->add_option("--bytes", bench.bytes, "of the 16-bit side")
      ->check(CLI::Range(std::int64_t{1} << 20, std::int64_t{1} << 34));
  bench_command->add_option("--only", bench.only, "conversions whose names have this text");
  return golden_test::run_check(app, argc, argv, [&] {
    bool same = true;
    if (*random_command) same = golden_test::check_random_conversions(random, chosen);
    if (*every_command) same = golden_test::check_every_input();
    if (*large_command) same = golden_test::check_large();
    if (*bench_command) golden_test::bench_conversions(bench);
    const ExitCode result = same ? ExitCode::kOk : ExitCode::kMismatch;
    return *random_command ? chosen.end(result) : result;
  });
}
