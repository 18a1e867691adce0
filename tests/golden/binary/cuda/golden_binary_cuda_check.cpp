// golden_binary_cuda_check: compares binary convolution on a GPU with golden/binary on random
// layers, bit for bit, and times it. Exits 77 where there is no GPU to run on.
#include <iostream>

#include <CLI/CLI.hpp>

#include "golden/device/devices.h"
#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/trained_network.h"

namespace {

using namespace qsim;

constexpr int kSkipped = 77;

int check(int argc, char** argv) {
  CLI::App app("Compares binary convolution on a GPU with golden/binary");
  app.require_subcommand(1);
  golden_test::BinaryRandomOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random layers");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command->add_flag("--small", random.small, "small layers alone, for sanitizers");
  CLI::App* network_command = app.add_subcommand("network", "a trained network, layer by layer");
  std::string network = golden_test::kTrainedNetwork;
  network_command->add_option("--data", network, "its folder")->check(CLI::ExistingDirectory);
  int runs = 21;
  CLI::App* bench_command = app.add_subcommand("bench", "times of layers, with cold caches");
  bench_command->add_option("--runs", runs)->check(CLI::PositiveNumber);
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
  if (*random_command) return static_cast<int>(golden_test::check_binary_random(random));
  if (*network_command) return static_cast<int>(golden_test::check_binary_network(network));
  return static_cast<int>(golden_test::bench_binary(runs));
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
