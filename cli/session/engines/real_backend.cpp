#include "cli/session/engines/real_backend.h"

#include "golden/graph/real/cuda/real_cuda_executor.h"

namespace qsim::cli {
namespace {

class RealCpuRunner final : public RealRunner {
 public:
  RealCpuRunner(const Graph& graph, const golden::RealExecutorOptions& options)
      : executor_(graph, options) {}

  GoldenBackend backend() const override { return GoldenBackend::kCpu; }
  Tensor run(const Tensor& input, golden::ThreadTeam& team) override {
    return executor_.run(input, team);
  }

 private:
  golden::RealExecutor executor_;
};

class RealCudaRunner final : public RealRunner {
 public:
  RealCudaRunner(const Graph& graph, const golden::RealExecutorOptions& options,
                 std::int64_t pictures)
      : executor_(graph, options, golden_device().index) {
    executor_.reserve(pictures);
  }

  GoldenBackend backend() const override { return GoldenBackend::kCuda; }
  Tensor run(const Tensor& input, golden::ThreadTeam&) override { return executor_.run(input); }

 private:
  golden::CudaRealExecutor executor_;
};

}  // namespace

std::unique_ptr<RealRunner> make_real_runner(GoldenSelection& selection, const Graph& graph,
                                             const golden::RealExecutorOptions& options,
                                             std::int64_t pictures) {
  if (selection.backends().front() == GoldenBackend::kCuda) {
    try {
      return std::make_unique<RealCudaRunner>(graph, options, pictures);
    } catch (const Error& error) {
      if (!selection.cpu_may_stand_in()) throw;
      selection.use_cpu_for(graph.name, error);
    }
  }
  return std::make_unique<RealCpuRunner>(graph, options);
}

}  // namespace qsim::cli
