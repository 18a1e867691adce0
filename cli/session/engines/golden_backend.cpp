#include "cli/session/engines/golden_backend.h"

#include <algorithm>
#include <cstdlib>

#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/graph_executor.h"

namespace qsim::cli {
namespace {

constexpr int kLeastMajor = 8;  // compute capability 8.0

class CpuRunner final : public GoldenRunner {
 public:
  CpuRunner(const Graph& graph, GoldenKeep keep)
      : executor_(graph, {.keep_every_layer = keep == GoldenKeep::kEveryLayer}) {}

  GoldenBackend backend() const override { return GoldenBackend::kCpu; }

 private:
  void execute(const Tensor& input, std::vector<Tensor>& outputs) override {
    executor_.run(input, outputs);
  }

  golden::GraphExecutor executor_;
};

class CudaRunner final : public GoldenRunner {
 public:
  CudaRunner(const Graph& graph, GoldenKeep keep)
      : keep_(keep),
        executor_(graph, {.device = golden_device().index,
                          .keep = keep == GoldenKeep::kEveryLayer ? golden::CudaKeep::kEvery
                                                                  : golden::CudaKeep::kLast}) {}

  GoldenBackend backend() const override { return GoldenBackend::kCuda; }

 private:
  void execute(const Tensor& input, std::vector<Tensor>& outputs) override {
    outputs = executor_.run(input);
    if (keep_ == GoldenKeep::kLastLayer) outputs.erase(outputs.begin(), outputs.end() - 1);
  }

  GoldenKeep keep_;
  golden::CudaGraphExecutor executor_;
};

std::string advice() {
  return golden::cuda_status().built ? "`qsim golden info` says what there is"
                                     : "`./dev build` makes one where nvcc is (README.md, CUDA)";
}

std::vector<GoldenBackend> backends_of(const std::string& list) {
  if (list == "cpu,cuda") return {GoldenBackend::kCpu, GoldenBackend::kCuda};
  if (list == "cuda,cpu") return {GoldenBackend::kCuda, GoldenBackend::kCpu};
  if (list == "cuda") return {GoldenBackend::kCuda};
  QSIM_CHECK(list == "cpu", "golden '" + list + "' is not in the list");
  return {GoldenBackend::kCpu};
}

std::vector<Tensor> kept_of(std::vector<Tensor> tensors, const std::vector<bool>& kept) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!kept[i]) tensors[i] = Tensor{};
  }
  return tensors;
}

}  // namespace

std::string_view golden_backend_name(GoldenBackend backend) {
  return backend == GoldenBackend::kCuda ? "cuda" : "cpu";
}

std::string golden_variable() {
  const char* variable = std::getenv("QSIM_GOLDEN");
  const std::string name = variable == nullptr ? "auto" : variable;
  if (name == "cpu" || name == "cuda" || name == "auto") return name;
  throw Error(ExitCode::kUsage, "QSIM_GOLDEN is '" + name + "'; allowed: cpu, cuda, auto");
}

const golden::CudaDevice& golden_device() {
  const std::vector<golden::CudaDevice>& devices = golden::cuda_status().devices;
  const auto found =
      std::find_if(devices.begin(), devices.end(),
                   [](const golden::CudaDevice& device) { return device.major >= kLeastMajor; });
  QSIM_CHECK(found != devices.end(), "a usable GPU is there");
  return *found;
}

std::vector<Tensor> GoldenRunner::run(const Tensor& input) {
  std::vector<Tensor> outputs;
  run(input, outputs);
  return outputs;
}

std::unique_ptr<GoldenRunner> make_golden_runner(GoldenBackend backend, const Graph& graph,
                                                 GoldenKeep keep) {
  if (backend == GoldenBackend::kCuda) return std::make_unique<CudaRunner>(graph, keep);
  return std::make_unique<CpuRunner>(graph, keep);
}

GoldenSelection::GoldenSelection(const std::string& option, const std::string& wanted, Note note)
    : note_(std::move(note)) {
  std::string list = wanted;
  may_fall_back_ = wanted == "auto";
  if (may_fall_back_) list = golden_variable();
  if (list != "cpu" && !golden::cuda_status().usable()) {
    const std::string reason = "no GPU can be used: " + golden::cuda_status().reason;
    if (!may_fall_back_) {
      throw_bad_input(option + " " + wanted + ": " + reason + "; " + advice() + ", or take " +
                      option + " cpu");
    }
    if (list == "cuda") note_("QSIM_GOLDEN=cuda: " + reason + "; using the CPU");
    list = "cpu";
  }
  backends_ = backends_of(list == "auto" ? "cuda" : list);
}

std::string GoldenSelection::name() const {
  std::string text;
  for (const GoldenBackend backend : backends_) {
    text += (text.empty() ? "" : ",") + std::string(golden_backend_name(backend));
  }
  return text;
}

std::unique_ptr<GoldenRunner> GoldenSelection::runner(const Graph& graph, GoldenKeep keep) {
  try {
    return make_golden_runner(backends_.front(), graph, keep);
  } catch (const Error& error) {
    if (!cpu_may_stand_in()) throw;
    std::unique_ptr<GoldenRunner> stand_in = make_golden_runner(GoldenBackend::kCpu, graph, keep);
    use_cpu_for(graph.name, error);
    return stand_in;
  }
}

std::vector<Tensor> GoldenSelection::run_once(const Graph& graph, const Tensor& input,
                                              const std::vector<bool>& kept) {
  if (backends_.front() == GoldenBackend::kCuda) {
    const std::unique_ptr<GoldenRunner> chosen = runner(graph);  // the CPU's, if it replaces it
    if (chosen->backend() == GoldenBackend::kCuda) return kept_of(chosen->run(input), kept);
  }
  const golden::ExecutorOptions options{.kept_layers = kept, .pack_ahead = false};
  return golden::GraphExecutor(graph, options).run(input);
}

bool GoldenSelection::cpu_may_stand_in() const {
  return may_fall_back_ && backends_.front() == GoldenBackend::kCuda;
}

void GoldenSelection::use_cpu_for(const std::string& network, const Error& reason) {
  QSIM_CHECK(cpu_may_stand_in(), "cuda was not asked for by the option");
  note_("the GPU cannot run '" + network + "': " + reason.what() + "; using the CPU");
  backends_ = {GoldenBackend::kCpu};
}

std::vector<std::unique_ptr<GoldenRunner>> GoldenSelection::runners(const Graph& graph) {
  std::vector<std::unique_ptr<GoldenRunner>> runners;
  runners.push_back(runner(graph));
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    runners.push_back(make_golden_runner(backends_[i], graph));
  }
  return runners;
}

}  // namespace qsim::cli
