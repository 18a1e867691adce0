// golden_linear_cuda_check: compares the linear layers on a GPU with those on the CPU, bit for bit,
// and times them. Exits 77 where there is no GPU to run on.
#include <iostream>

#include <CLI/CLI.hpp>

#include "golden/device/devices.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"

namespace {

using namespace qsim;

constexpr int kSkipped = 77;

int check(int argc, char** argv) {
  CLI::App app("Compares linear layers on a GPU with those on the CPU");
  app.require_subcommand(1);
  golden_test::RandomLinearOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random layers");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first layer");
  random_command->add_option("--most-rows", random.most_rows)->check(CLI::PositiveNumber);
  random_command->add_option("--most-features", random.most_features)->check(CLI::PositiveNumber);
  golden_test::BenchLinearOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times with cold caches");
  bench_command->add_option("--only", bench.only, "cases whose name has this");
  bench_command->add_option("--stages", bench.stages, "of the pipeline; 0: chosen");
  bench_command->add_flag("--late", bench.late, "read weights only after the launch before");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const golden::CudaStatus& status = golden::cuda_status();
  if (!status.usable()) {
    std::cout << "skipped: no GPU (" << status.reason << ")\n";
    return kSkipped;
  }
  if (*random_command) return static_cast<int>(golden_test::check_random_linear(random));
  return static_cast<int>(golden_test::bench_linear(bench));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return check(argc, argv);
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
    return static_cast<int>(ExitCode::kInternal);
  }
}
