// golden_convert_cuda_check: compares the conversions on a GPU with those on the CPU, bit for bit,
// and times them. Exits 77 where there is no GPU to run on.
#include <iostream>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "golden/device/devices.h"
#include "tests/golden/convert/cuda/check_commands.h"

namespace {

using namespace qsim;

constexpr int kSkipped = 77;

int check(int argc, char** argv) {
  CLI::App app("Compares the group conversions on a GPU with golden/convert");
  app.require_subcommand(1);
  golden_test::RandomConversions random;
  CLI::App* random_command = app.add_subcommand("random", "random conversions of each format");
  random_command->add_option("--count", random.count, "cases of each format")
      ->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  CLI::App* every_command = app.add_subcommand("every_input", "every code of each format");
  CLI::App* large_command = app.add_subcommand("large", "more than 2^31 elements");
  golden_test::BenchConversions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times beside a copy");
  bench_command->add_option("--bytes", bench.bytes, "of the 16-bit side")
      ->check(CLI::Range(std::int64_t{1} << 20, std::int64_t{1} << 34));
  bench_command->add_option("--only", bench.only, "conversions whose names have this text");
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
  std::cout << "device: " << status.devices.front().name << std::endl;
  bool same = true;
  if (*random_command) same = golden_test::check_random_conversions(random);
  if (*every_command) same = golden_test::check_every_input();
  if (*large_command) same = golden_test::check_large();
  if (*bench_command) golden_test::bench_conversions(bench);
  return static_cast<int>(same ? ExitCode::kOk : ExitCode::kMismatch);
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
