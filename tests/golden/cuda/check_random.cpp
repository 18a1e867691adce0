#include <iostream>
#include <map>
#include <set>

#include "golden/device/devices.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/layer_plan.h"
#include "tests/golden/cuda/check_commands.h"
#include "tests/golden/cuda/instance_cases.h"
#include "tests/golden/cuda/ofmap_difference.h"
#include "tests/golden/cuda/random_cases.h"
#include "tests/golden/cuda/tile_cases.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden_test {
namespace {

using golden::CudaGraphExecutor;
using golden::CudaKeep;
using golden::CudaPath;

constexpr int kMostPrintedGraphs = 10;           // mismatches
constexpr std::int64_t kCasesToMeetAll = 100;    // fewer need not meet every family
constexpr std::int64_t kCasesToMeetTiles = 600;  // fewer need not meet every tile of conv_wgmma
constexpr std::uint64_t kSecondInputEvery = 4;

const char* keep_name(CudaKeep keep) {
  constexpr const char* kNames[] = {"every", "stored", "last"};
  return kNames[static_cast<std::size_t>(keep)];
}

std::string family_of(const std::string& kernel) { return kernel.substr(0, kernel.find(' ')); }

// The first kernel of "conv_wgmma 256x64 + max_pool 2x2", without what runs after it.
std::string first_of(const std::string& kernel) { return kernel.substr(0, kernel.find(" + ")); }

double macs_of(const Graph& graph) {
  double macs = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    macs += static_cast<double>(layer_macs(graph, i));
  }
  return macs;
}

bool has_hopper_path() {
  const golden::CudaDevice& device = golden::cuda_status().devices[0];
  return device.major == 9 && device.minor == 0;
}

class RandomCheck {
 public:
  RandomCheck(const RandomOptions& options, ChosenCases& chosen)
      : options_(options), chosen_(chosen) {}

  ExitCode run() {
    for (std::int64_t i = 0; i < options_.count; ++i) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(i);
      check_random_case(seed);
      if ((i + 1) % 200 == 0) std::cerr << i + 1 << " of " << options_.count << " cases\n";
    }
    return end();
  }

  // Then every instance of the kernels of convolutions that the device has, on small layers.
  ExitCode run_every_kernel() {
    for (std::int64_t i = 0; i < options_.count; ++i) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(i);
      check_random_case(seed);
    }
    check_instances(portable_instances());
    every_tile_ = has_hopper_path();
    if (every_tile_) check_instances(wgmma_instances());
    return end();
  }

 private:
  void check_random_case(std::uint64_t seed) {
    if (!chosen_.begin(std::to_string(seed))) return;
    check_case(seed, golden_test::random_case(seed, options_.most_macs), options_.paths,
               {CudaKeep::kEvery, CudaKeep::kStored, CudaKeep::kLast}, {});
  }

  void check_instances(const std::vector<InstanceCase>& instances) {
    constexpr std::uint64_t kInstanceSeed = 1;
    for (const InstanceCase& instance : instances) {
      if (!chosen_.begin(instance.name)) continue;
      Random random(kInstanceSeed);
      RandomCase made{instance.name, instance.graph, {}};
      const Value& input = made.graph.input_value();
      made.input = random_tensor(random, input.dtype, input.shape.nhwc());
      check_case(kInstanceSeed, made, {instance.path}, {CudaKeep::kStored}, instance.choices);
    }
  }

  ExitCode end() { return chosen_.end(judge()); }

  ExitCode judge() {
    print();
    if (mismatches_ > 0) return ExitCode::kMismatch;
    if (compared_bytes_ == 0) std::cout << "no byte was compared\n";
    return compared_bytes_ > 0 && complete() ? ExitCode::kOk : ExitCode::kInternal;
  }

  void check_case(std::uint64_t seed, const RandomCase& random_case,
                  const std::vector<CudaPath>& paths, const std::vector<CudaKeep>& keeps,
                  const golden::CudaChoices& choices) {
    chosen_.add_work(macs_of(random_case.graph) * static_cast<double>(paths.size() * keeps.size()));
    const golden::GraphExecutor cpu(random_case.graph);
    std::vector<Tensor> inputs{random_case.input};
    if (seed % kSecondInputEvery == 0) {  // a replay must not see the first run's input
      Random random(~seed);
      inputs.push_back(random_tensor(random, random_case.input.dtype, random_case.input.shape));
    }
    std::vector<std::vector<Tensor>> expected;
    for (const Tensor& input : inputs) expected.push_back(cpu.run(input));
    ++kinds_[random_case.kind.substr(0, random_case.kind.find('.'))];
    if (is_constant(expected[0].back().bytes)) ++constant_;
    for (const CudaPath path : paths) {
      if (path == CudaPath::kHopper && !has_hopper_path()) continue;
      for (const CudaKeep keep : keeps) {
        if (keep == CudaKeep::kLast && random_case.graph.layers.size() == 1) continue;
        try {
          run_on_device(random_case, seed, {0, path, keep, choices}, inputs, expected);
        } catch (...) {
          std::cout << header(random_case, seed, path, keep) << ": failed to run\n"
                    << graph_text(random_case.graph);
          throw;
        }
      }
    }
  }

  static std::string header(const RandomCase& random_case, std::uint64_t seed, CudaPath path,
                            CudaKeep keep) {
    return "seed " + std::to_string(seed) + " (" + random_case.kind + ", path " +
           std::string(golden::cuda_path_name(path)) + ", keep " + keep_name(keep) + ")";
  }

  void run_on_device(const RandomCase& random_case, std::uint64_t seed,
                     const golden::CudaOptions& options, const std::vector<Tensor>& inputs,
                     const std::vector<std::vector<Tensor>>& expected) {
    const Graph& graph = random_case.graph;
    const auto [device, path, keep, choices] = options;
    CudaGraphExecutor cuda(graph, options);
    for (const std::string& kernel : cuda.kernels()) ++kernels_[path][kernel];
    const std::vector<golden::cuda::Step> steps = golden::cuda::plan_layers(graph, keep);
    for (std::size_t run = 0; run < inputs.size(); ++run) {
      const std::vector<Tensor> got = cuda.run(inputs[run]);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::size_t layer = steps[i].last();
        if (keep == CudaKeep::kLast && i + 1 < steps.size()) {
          QSIM_CHECK(got[layer].bytes.empty(), "an ofmap that nobody asked for");
          continue;
        }
        const Value& value = graph.output_of(layer);
        QSIM_CHECK(got[layer].shape == value.shape.nhwc() && got[layer].dtype == value.dtype,
                   "an ofmap of another shape or dtype");
        const OfmapDifference difference =
            compare_ofmaps(got[layer].bytes, expected[run][layer].bytes, value.dtype);
        compared_bytes_ += element_count(value.shape.nhwc());
        if (difference.bytes == 0) continue;
        ++wrong_[family_of(cuda.kernels()[i])];
        report(header(random_case, seed, path, keep) + ": input " + std::to_string(run) + ", " +
                   golden::cuda::layer_names(graph, steps[i]) + " on " + cuda.kernels()[i] +
                   " at " + difference_text(difference, value.shape),
               graph);
        return;  // what follows reads wrong bytes
      }
    }
  }

  void report(const std::string& message, const Graph& graph) {
    if (mismatches_++ >= kMostPrintedGraphs) return;
    std::cout << "MISMATCH " << message << "\n" << graph_text(graph);
  }

  // The families that a path must have met.
  std::set<std::string> wanted_families(CudaPath path) const {
    if (options_.count < kCasesToMeetAll) return {};
    std::set<std::string> families{"max_pool", "relu",   "flatten",      "average_pool",
                                   "add",      "concat", "lookup_table", "prelu"};
    if (path == CudaPath::kDirect) {
      families.insert("conv_direct");
      return families;
    }
    families.insert({"conv_mma", "conv_first", "conv_depthwise"});
    // On path hopper wgmma takes nearly all that linear_stream could.
    if (path != CudaPath::kHopper) families.insert("linear_stream");
    if (path != CudaPath::kPortable && has_hopper_path()) families.insert("conv_wgmma");
    return families;
  }

  // The names of conv_wgmma's kernels that path hopper must have met.
  std::set<std::string> wanted_tiles() const {
    const bool one_of_those = golden::cuda_status().devices[0].multiprocessors ==
                              kTileMultiprocessors;  // else other tiles are chosen
    if (!one_of_those || !(every_tile_ || options_.count >= kCasesToMeetTiles)) return {};
    std::set<std::string> tiles;
    for (const TileCase& tile : tile_cases()) tiles.emplace(tile.kernel);
    return tiles;
  }

  void print() const {
    std::cout << options_.count << " cases from seed " << options_.seed << ", --most-macs "
              << options_.most_macs << ", " << golden::cuda_status().devices[0].name << ":\n";
    for (const auto& [kind, count] : kinds_) std::cout << "  " << kind << " " << count << "\n";
    for (const auto& [path, kernels] : kernels_) {
      std::cout << "kernels of path " << golden::cuda_path_name(path) << ":\n";
      for (const auto& [kernel, count] : kernels)
        std::cout << "  " << kernel << " " << count << "\n";
    }
    if (mismatches_ > 0) {
      std::cout << "mismatching runs by family:";
      for (const auto& [family, count] : wrong_) std::cout << " " << family << " " << count;
      std::cout << "\n";
    }
    std::cout << compared_bytes_ << " bytes compared, " << mismatches_ << " mismatching runs, "
              << constant_ << " cases with a constant ofmap\n";
  }

  // Whether the cases could have shown an error in every family.
  bool complete() const {
    if (!chosen_.all()) return true;
    bool complete = constant_ * 4 <= options_.count || options_.count < kCasesToMeetAll;
    if (!complete) std::cout << "more than a quarter of the ofmaps are constant\n";
    for (const auto& [path, kernels] : kernels_) {
      std::set<std::string> missing = wanted_families(path);
      if (path == CudaPath::kHopper) missing.merge(wanted_tiles());
      for (const auto& [kernel, count] : kernels) {
        missing.erase(family_of(kernel));
        missing.erase(first_of(kernel));
      }
      for (const std::string& kernel : missing) {
        std::cout << "no case met " << kernel << " on path " << golden::cuda_path_name(path)
                  << "\n";
      }
      complete = complete && missing.empty();
    }
    return complete;
  }

  const RandomOptions& options_;
  ChosenCases& chosen_;
  std::map<std::string, std::int64_t> kinds_;
  std::map<CudaPath, std::map<std::string, std::int64_t>> kernels_;
  std::map<std::string, std::int64_t> wrong_;  // mismatching runs by the family that began it
  bool every_tile_ = false;
  std::int64_t compared_bytes_ = 0;
  std::int64_t mismatches_ = 0;
  std::int64_t constant_ = 0;
};

}  // namespace

ExitCode check_random(const RandomOptions& options, ChosenCases& chosen) {
  RandomCheck check(options, chosen);
  return options.every_kernel ? check.run_every_kernel() : check.run();
}

}  // namespace qsim::golden_test
