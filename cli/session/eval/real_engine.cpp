#include "cli/session/eval/real_engine.h"

#include <algorithm>

#include "cli/session/engines/real_backend.h"
#include "core/base/checked_math.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/fake_graph.h"

namespace qsim::cli {
namespace {

class RealEngine : public EvalEngine {
 public:
  RealEngine(GoldenSelection& selection, const EvalNetwork& network, std::int64_t batch,
             golden::ThreadTeam& team, const Graph& graph,
             const golden::RealExecutorOptions& options)
      : network_(network),
        batch_(batch),
        team_(team),
        runner_(make_real_runner(selection, graph, options, batch)) {}

  std::string backend() const override {
    return std::string(golden_backend_name(runner_->backend()));
  }

  bool is_integer() const override { return false; }
  std::int64_t pictures_at_once() const override {
    return batch_ * (is_cpu() ? team_.threads() : 1);
  }
  std::optional<StageSeconds> stages() const override {
    return is_cpu() ? std::nullopt : std::optional(stages_);
  }

  // On the CPU a batch a thread: the threads of one batch would wait for each other after each
  // layer.
  void predict(std::int64_t first, const PredictionRows& to) override {
    const auto size = static_cast<std::size_t>(batch_);
    const std::size_t parts = (to.size() + size - 1) / size;
    const auto part_of = [&](std::size_t part, golden::ThreadTeam& team) {
      const std::size_t at = part * size;
      return predict_batch(first + static_cast<std::int64_t>(at),
                           to.part(at, std::min(size, to.size() - at)), team);
    };
    if (is_cpu()) {
      team_.run(parts, [&](std::size_t part) {
        golden::ThreadTeam alone(1);
        part_of(part, alone);
      });
      return;
    }
    for (std::size_t part = 0; part < parts; ++part) stages_.add(part_of(part, team_));
  }

 private:
  bool is_cpu() const { return runner_->backend() == GoldenBackend::kCpu; }

  StageSeconds predict_batch(std::int64_t first, const PredictionRows& to,
                             golden::ThreadTeam& team) {
    StageSeconds seconds;
    const auto pictures = static_cast<std::int64_t>(to.size());
    const Tensor input =
        timed(seconds.reading, [&] { return network_.pictures.read(first, pictures, team); });
    const Tensor output = timed(seconds.computing, [&] { return runner_->run(input, team); });
    timed(seconds.judging, [&] { take_reals(output, to); });
    return seconds;
  }

  const EvalNetwork& network_;
  std::int64_t batch_;
  golden::ThreadTeam& team_;
  std::unique_ptr<RealRunner> runner_;
  StageSeconds stages_;
};

// It keeps the graph that its executor reads.
class FakeEngine final : public EvalEngine {
 public:
  FakeEngine(GoldenSelection& selection, const EvalNetwork& network, std::int64_t batch,
             golden::ThreadTeam& team)
      : fake_(golden::fake_graph(network.model->graph)),
        engine_(selection, network, batch, team, fake_.graph, {.rules = fake_.rules}) {}

  bool is_integer() const override { return false; }
  std::string backend() const override { return engine_.backend(); }
  std::int64_t pictures_at_once() const override { return engine_.pictures_at_once(); }
  std::optional<StageSeconds> stages() const override { return engine_.stages(); }
  void predict(std::int64_t first, const PredictionRows& to) override {
    engine_.predict(first, to);
  }

 private:
  golden::FakeGraph fake_;
  RealEngine engine_;
};

std::int64_t largest_elems(const Graph& graph) {
  std::int64_t largest = 0;
  for (const Value& tensor : graph.tensors) {
    ImageShape shape = tensor.shape;
    shape.batch = 1;
    largest = std::max(largest, element_count(shape.nhwc()));
  }
  return largest;
}

}  // namespace

std::unique_ptr<EvalEngine> make_float_engine(GoldenSelection& selection,
                                              const EvalNetwork& network, std::int64_t batch,
                                              golden::ThreadTeam& team) {
  QSIM_CHECK(network.real.has_value(), "the network has a float network");
  return std::make_unique<RealEngine>(selection, network, batch, team, *network.real,
                                      golden::RealExecutorOptions{});
}

std::unique_ptr<EvalEngine> make_fake_engine(GoldenSelection& selection, const EvalNetwork& network,
                                             std::int64_t batch, golden::ThreadTeam& team) {
  return std::make_unique<FakeEngine>(selection, network, batch, team);
}

std::int64_t largest_tensor_elems(const EvalNetwork& network) {
  std::int64_t largest = 1;
  if (network.real) largest = largest_elems(*network.real);
  return network.model ? std::max(largest, largest_elems(network.model->graph)) : largest;
}

// Four float32 tensors of each thread's batch: two that a layer reads, the one that it writes, and
// the input. Float weights, and once more packed.
std::int64_t real_engine_bytes(const EvalNetwork& network, std::int64_t batch,
                               std::int64_t threads) {
  constexpr std::int64_t kTensors = 4;
  constexpr std::int64_t kFloat = sizeof(float);
  const Graph& graph = network.real ? *network.real : network.model->graph;
  const std::int64_t largest = largest_elems(graph);
  std::int64_t weights = 0;
  for (const Layer& layer : graph.layers) {
    std::visit(
        [&](const auto& operation) {
          if constexpr (requires { operation.weights; }) weights += operation.weights.elems();
        },
        layer.operation);
  }
  const std::int64_t tensors =
      checked_mul(checked_mul(checked_mul(batch, threads), largest), kTensors * kFloat);
  return checked_add(tensors, 2 * kFloat * weights);
}

}  // namespace qsim::cli
