// golden_cuda_check: compares the CUDA golden with golden/graph/cpu, byte for byte, on random
// graphs and on whole networks, and times it. Exits 77 where there is no GPU to run on.
#include <CLI/CLI.hpp>

#include "tests/golden/cuda/check_commands.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/device/run_check.h"

using namespace qsim;
using golden::CudaPath;

namespace {

constexpr CudaPath kPaths[] = {CudaPath::kAuto, CudaPath::kHopper, CudaPath::kPortable,
                               CudaPath::kDirect};

CudaPath path_of(const std::string& name) {
  const auto* found = std::find_if(std::begin(kPaths), std::end(kPaths), [&](CudaPath path) {
    return golden::cuda_path_name(path) == name;
  });
  QSIM_CHECK(found != std::end(kPaths), "no path is called " + name);
  return *found;
}

std::vector<CudaPath> paths_of(const std::vector<std::string>& names) {
  std::vector<CudaPath> paths;
  for (const std::string& name : names) paths.push_back(path_of(name));
  return paths;
}

CLI::IsMember is_path() {
  std::vector<std::string> names;
  for (const CudaPath path : kPaths) names.emplace_back(golden::cuda_path_name(path));
  return CLI::IsMember(names);
}

void add_paths(CLI::App* command, std::vector<std::string>& paths) {
  command->add_option("--paths", paths, "kernel paths, separated by commas")
      ->delimiter(',')
      ->check(is_path())
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares the CUDA golden with golden/graph/cpu");

  golden_test::RandomOptions random;
  std::vector<std::string> random_paths{"auto", "hopper", "portable", "direct"};
  CLI::App* random_command = app.add_subcommand("random", "random graphs");
  random_command->add_option("--count", random.count)->check(CLI::PositiveNumber);
  random_command->add_option("--seed", random.seed, "of the first case");
  random_command
      ->add_option("--most-macs", random.most_macs, "of most layers; a sanitizer wants few")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  random_command->add_flag("--every-kernel", random.every_kernel,
                           "then a small layer for each instance of the kernels, for sanitizers");
  add_paths(random_command, random_paths);
  golden_test::ChosenCases chosen(*random_command);

  golden_test::NetworkOptions network;
  std::vector<std::string> network_paths{"auto"};
  CLI::App* network_command = app.add_subcommand("network", "every ofmap of a network");
  CLI::App* source = network_command->add_option_group("source");
  source->add_option("--workload", network.workload)->check(CLI::ExistingFile);
  source->add_option("--onnx", network.onnx)->check(CLI::ExistingFile);
  source->require_option(1);
  network_command->add_option("--batch", network.batch)->check(CLI::PositiveNumber);
  network_command->add_option("--images", network.images, "a CIFAR-10 batch (.bin)");
  network_command->add_option("--count", network.count, "pictures of it; 0: all")
      ->check(CLI::NonNegativeNumber);
  add_paths(network_command, network_paths);

  golden_test::BenchOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "times of a network and of its kernels");
  bench_command->add_option("--workload", bench.workload)->required()->check(CLI::ExistingFile);
  bench_command->add_option("--batch", bench.batch)->check(CLI::PositiveNumber);
  bench_command->add_option("--runs", bench.runs)->check(CLI::PositiveNumber);
  std::string bench_path = "auto";
  bench_command->add_option("--path", bench_path, "kernel path")->check(is_path());

  return golden_test::run_check(app, argc, argv, [&] {
    random.paths = paths_of(random_paths);
    network.paths = paths_of(network_paths);
    bench.path = path_of(bench_path);
    if (*random_command) return golden_test::check_random(random, chosen);
    if (*network_command) return golden_test::check_network(network);
    return golden_test::bench_network(bench);
  });
}
