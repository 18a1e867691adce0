#include "cli/session/eval/hosted_engine.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cli/session/inputs/hosted_steps.h"
#include "compiler/compile.h"
#include "core/machine/dram_layout.h"
#include "golden/host/host_costs.h"

namespace qsim::cli {
namespace {

void take_output(const Tensor& output, const PredictionRows& to) {
  if (output.dtype == DType::kFloat32) return take_reals(output, to);
  to.predictions.front() = prediction_of(std::span(output.bytes), output.dtype == DType::kUint8);
  const std::optional<std::vector<double>> scores = class_scores(output);
  QSIM_CHECK(scores.has_value(), "the output has classes");
  std::ranges::transform(*scores, to.outputs.begin(),
                         [](double score) { return static_cast<float>(score); });
}

// The steps of one picture after the other; what runs a part is the other class's.
class HostedEngine : public EvalEngine {
 public:
  explicit HostedEngine(const EvalNetwork& network)
      : network_(network), classifier_(*network.hosted) {}

  bool is_integer() const override {
    const HostNetwork& host = classifier_.model.hosted.network;
    return host.values[host.outputs.front()].array.tensor.dtype != DType::kFloat32;
  }

 protected:
  void predict_one(std::int64_t picture, const PredictionRows& to, const RunPart& run_part) const {
    const HostNetwork& host = classifier_.model.hosted.network;
    HostInputs inputs;
    inputs[host.values[host.inputs.front()].name] = {
        host_input(classifier_, network_.pictures, picture), network_.pictures.name(picture)};
    HostedSteps steps(classifier_.model, std::move(inputs));
    steps.run(run_part);
    take_output(steps.output(0), to);
  }

  const std::vector<ArrayPart>& parts() const { return classifier_.model.hosted.parts; }

 private:
  const EvalNetwork& network_;
  const HostedClassifier& classifier_;
};

class HostedGolden final : public HostedEngine {
 public:
  HostedGolden(GoldenSelection& selection, const EvalNetwork& network, golden::ThreadTeam& team)
      : HostedEngine(network), team_(team) {
    for (const ArrayPart& part : parts()) {
      runners_.push_back(selection.runner(part.graph, GoldenKeep::kLastLayer));
    }
  }

  std::string backend() const override {
    return std::string(
        golden_backend_name(is_cpu() ? GoldenBackend::kCpu : runners_.front()->backend()));
  }
  std::int64_t pictures_at_once() const override { return is_cpu() ? team_.threads() : 1; }

  void predict(std::int64_t first, const PredictionRows& to) override {
    const auto one = [&](std::size_t i) {
      predict_one(first + static_cast<std::int64_t>(i), to.part(i, 1),
                  [this](std::size_t part, const Tensor& input) {
                    std::vector<Tensor> outputs = runners_[part]->run(input);
                    return std::optional(std::move(outputs.back()));
                  });
    };
    if (is_cpu()) return team_.run(to.size(), one);
    for (std::size_t i = 0; i < to.size(); ++i) one(i);
  }

 private:
  bool is_cpu() const {
    return std::ranges::all_of(runners_, [](const std::unique_ptr<GoldenRunner>& runner) {
      return runner->backend() == GoldenBackend::kCpu;
    });
  }

  golden::ThreadTeam& team_;
  std::vector<std::unique_ptr<GoldenRunner>> runners_;  // one a part
};

class HostedProgram final : public HostedEngine {
 public:
  HostedProgram(Engine& engine, const EvalNetwork& network)
      : HostedEngine(network), engine_(engine) {
    for (const ArrayPart& part : parts()) {
      programs_.push_back(compiler::compile(part.graph, network.config));
    }
  }

  std::int64_t pictures_at_once() const override { return 1; }

  void predict(std::int64_t first, const PredictionRows& to) override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      predict_one(
          first + static_cast<std::int64_t>(i), to.part(i, 1),
          [this](std::size_t part, const Tensor& input) { return run(programs_[part], input); });
    }
  }

 private:
  std::optional<Tensor> run(const Program& program, const Tensor& input) {
    std::optional<Tensor> last;
    engine_.run(program, input,
                {.take_ofmap = [&](std::size_t layer, std::span<const std::byte> dram) {
                  if (layer + 1 == program.layers.size()) {
                    last = unpack(program.layers[layer].ofmap, dram);
                  }
                }});
    QSIM_CHECK(last.has_value(), "the engine hands the last ofmap over");
    return last;
  }

  Engine& engine_;
  std::vector<Program> programs_;  // one a part
};

}  // namespace

std::unique_ptr<EvalEngine> make_hosted_golden(GoldenSelection& selection,
                                               const EvalNetwork& network,
                                               golden::ThreadTeam& team) {
  return std::make_unique<HostedGolden>(selection, network, team);
}

std::unique_ptr<EvalEngine> make_hosted_program(Engine& engine, const EvalNetwork& network) {
  return std::make_unique<HostedProgram>(engine, network);
}

std::int64_t hosted_picture_bytes(const EvalNetwork& network) {
  return golden::run_bytes(network.hosted->model.hosted.network);
}

}  // namespace qsim::cli
