#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include "golden/common/float_formats.h"
#include "golden/graph/real/cuda/real_cuda_executor.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/real/cuda/check_commands.h"
#include "tests/golden/real/cuda/random_cases.h"

namespace qsim::golden_test {
namespace {

using golden::bits_of;
using golden::CudaRealExecutor;
using golden::RealExecutor;

constexpr int kMostPrinted = 10;               // mismatches
constexpr std::int64_t kCasesToMeetAll = 400;  // fewer need not meet every kernel
constexpr const char* kKernels[] = {
    "tile_products", "direct_products", "integer_products", "max_pool",   "average_pool",
    "add",           "concat",          "flatten",          "activation", "uniform_rule",
    "dynamic_rule",  "float_rule",      "log2_rule"};

const char* rule_kernel(const golden::TensorRule& rule) {
  constexpr const char* kNames[] = {"uniform_rule", "dynamic_rule", "float_rule", "log2_rule"};
  return kNames[rule.index()];
}

class RandomCheck {
 public:
  RandomCheck(const RealRandomOptions& options, ChosenCases& chosen)
      : options_(options), chosen_(chosen) {}

  ExitCode run() {
    for (std::int64_t i = 0; i < options_.count; ++i) {
      seed_ = options_.seed + static_cast<std::uint64_t>(i);
      if (!chosen_.begin(std::to_string(seed_))) continue;
      check(random_real_case(seed_, options_.small));
      if ((i + 1) % 500 == 0) std::cerr << i + 1 << " of " << options_.count << " cases\n";
    }
    return chosen_.end(end());
  }

 private:
  void check(const RealCase& made) {
    std::map<TensorId, Tensor> expected;
    RealExecutor cpu(made.graph, made.options);
    cpu.run(made.input, team_, [&](TensorId id, const Tensor& tensor) { expected[id] = tensor; });
    CudaRealExecutor gpu(made.graph, made.options);
    const std::vector<std::string> kernels = gpu.kernels();
    for (const std::string& kernel : kernels) ++met_[kernel];
    for (const auto& rule : made.options.rules) {
      if (rule) ++met_[rule_kernel(*rule)];
    }
    bool differs = false;
    const Tensor last = gpu.run(made.input, [&](TensorId id, const Tensor& found) {
      if (!differs) differs = !compare(made, kernels, id, expected.at(id), found);
    });
    if (!differs) compare(made, kernels, made.graph.output, expected.at(made.graph.output), last);
    check_fewer(made, gpu, last);
  }

  // A run of fewer pictures in the memory of more: the same as by itself.
  void check_fewer(const RealCase& made, CudaRealExecutor& gpu, const Tensor& last) {
    Tensor one = made.input;
    one.shape[0] = 1;
    one.bytes.resize(one.bytes.size() / static_cast<std::size_t>(made.input.shape[0]));
    const Tensor found = gpu.run(one);
    const bool depends_on_others = depends_on_batch(made);
    if (depends_on_others) return;
    const bool same = std::memcmp(found.bytes.data(), last.bytes.data(), found.bytes.size()) == 0;
    if (!same) mismatch("a run of one picture after one of more");
  }

  static bool depends_on_batch(const RealCase& made) {
    const auto by_batch = [](const auto& rule) {
      const auto* dynamic = std::get_if<golden::DynamicRule>(&rule);
      return dynamic != nullptr && !dynamic->per_picture;
    };
    for (const auto& rule : made.options.rules) {
      if (rule && by_batch(*rule)) return true;
    }
    for (const auto& [layer, weights] : made.options.layer_weights) {
      if (weights.input && by_batch(*weights.input)) return true;
    }
    return false;
  }

  bool compare(const RealCase& made, const std::vector<std::string>& kernels, TensorId id,
               const Tensor& expected, const Tensor& found) {
    const bool fits = expected.shape == found.shape && expected.dtype == found.dtype;
    const std::span<const float> a = expected.as<float>();
    const std::span<const float> b = found.as<float>();
    std::size_t i = 0;
    while (fits && i < a.size() && bits_of(a[i]) == bits_of(b[i])) {
      zeros_ += a[i] == 0.0F ? 1 : 0;
      ++i;
    }
    numbers_ += a.size();
    if (fits && i == a.size()) return true;
    const bool has_rule = !made.options.rules.empty() && made.options.rules[id].has_value();
    std::string kernel = has_rule ? rule_kernel(*made.options.rules[id]) : "";
    for (std::size_t layer = 0; layer < made.graph.layers.size(); ++layer) {
      if (made.graph.layers[layer].output != id) continue;
      if (!has_rule) kernel = kernels[layer];
    }
    ++wrong_[kernel];
    mismatch("tensor " + std::to_string(id) + " (" + kernel + ") differs from number " +
             std::to_string(i) + " of " + std::to_string(a.size()) + " on: " +
             (i < b.size() ? std::to_string(a[i]) + " expected, " + std::to_string(b[i]) : ""));
    return false;
  }

  void mismatch(const std::string& what) {
    if (++mismatches_ <= kMostPrinted) std::cout << "seed " << seed_ << ": " << what << "\n";
  }

  static void print(const char* what, const std::map<std::string, std::int64_t>& counts) {
    std::cout << what;
    for (const auto& [kernel, count] : counts) std::cout << " " << kernel << " " << count;
    std::cout << "\n";
  }

  ExitCode end() const {
    print("runs by family:", met_);
    if (mismatches_ > 0) print("mismatching runs by family:", wrong_);
    std::cout << numbers_ << " numbers compared, seeds " << options_.seed << " to " << seed_ << ", "
              << mismatches_ << " mismatching runs\n";
    if (mismatches_ > 0) return ExitCode::kMismatch;
    if (numbers_ == 0 || zeros_ * 10 > numbers_ * 9) {
      throw InternalError("the comparison proves nothing: nearly all numbers are 0");
    }
    for (const char* kernel : kKernels) {
      if (chosen_.all() && options_.count >= kCasesToMeetAll && !met_.contains(kernel)) {
        throw InternalError("no case met the kernel " + std::string(kernel));
      }
    }
    return ExitCode::kOk;
  }

  RealRandomOptions options_;
  ChosenCases& chosen_;
  golden::ThreadTeam team_{1};
  std::uint64_t seed_ = 0;
  std::map<std::string, std::int64_t> met_;
  std::map<std::string, std::int64_t> wrong_;  // by the kernel of the first wrong tensor
  std::uint64_t numbers_ = 0;
  std::uint64_t zeros_ = 0;
  std::int64_t mismatches_ = 0;
};

}  // namespace

ExitCode check_real_random(const RealRandomOptions& options, ChosenCases& chosen) {
  return RandomCheck(options, chosen).run();
}

}  // namespace qsim::golden_test
