// golden_binary_cuda_check: compares binary convolution on a GPU with golden/kernels/binary on
// random layers, bit for bit, and times it. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/trained_network.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"

using namespace qsim;

int main(int argc, char** argv) {
  CLI::App app("Compares binary convolution on a GPU with golden/kernels/binary");
  golden_test::BinaryRandomOptions random;
  CLI::App* random_command = app.add_subcommand("random", "random layers");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command->add_flag("--small", random.small, "small layers alone, for sanitizers");
  golden_test::ChosenCases chosen(*random_command);
  CLI::App* network_command = app.add_subcommand("network", "a trained network, layer by layer");
  std::string network = golden_test::kTrainedNetwork;
  network_command->add_option("--data", network, "its folder")->check(CLI::ExistingDirectory);
  int runs = 21;
  CLI::App* bench_command = app.add_subcommand("bench", "times of layers, with cold caches");
  bench_command->add_option("--runs", runs)->check(CLI::PositiveNumber);
  return golden_test::run_check(app, argc, argv, [&] {
    if (*random_command) return golden_test::check_binary_random(random, chosen);
    if (*network_command) return golden_test::check_binary_network(network);
    return golden_test::bench_binary(runs);
  });
}
