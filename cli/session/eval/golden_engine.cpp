#include "cli/session/eval/golden_engine.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "golden/common/thread_team.h"

namespace qsim::cli {
namespace {

// One batch through the network: its tensors, used again.
struct Batch {
  Tensor input;
  std::vector<Tensor> outputs;
};

class GoldenEngine final : public EvalEngine {
 public:
  GoldenEngine(GoldenSelection& selection, const EvalNetwork& network, golden::ThreadTeam& team)
      : network_(network),
        team_(team),
        form_(output_form(network.model->graph)),
        runner_(selection.runner(network.model->graph, GoldenKeep::kLastLayer)) {}

  std::string backend() const override {
    return std::string(golden_backend_name(runner_->backend()));
  }
  bool is_integer() const override { return true; }
  std::optional<StageSeconds> stages() const override {
    return is_cpu() ? std::nullopt : std::optional(stages_);
  }
  std::int64_t pictures_at_once() const override {
    return batch() * (is_cpu() ? team_.threads() : 1);
  }

  void predict(std::int64_t first, const PredictionRows& to) override {
    const auto size = static_cast<std::size_t>(batch());
    const std::size_t parts = (to.size() + size - 1) / size;
    const auto part_of = [&](std::size_t part, golden::ThreadTeam& readers) {
      const std::size_t at = part * size;
      predict_batch(first + static_cast<std::int64_t>(at),
                    to.part(at, std::min(size, to.size() - at)), readers);
    };
    if (is_cpu()) {
      team_.run(parts, [&](std::size_t part) {
        golden::ThreadTeam alone(1);
        part_of(part, alone);
      });
      return;
    }
    for (std::size_t part = 0; part < parts; ++part) part_of(part, team_);
  }

 private:
  bool is_cpu() const { return runner_->backend() == GoldenBackend::kCpu; }
  const Value& input() const { return network_.model->graph.input_value(); }
  std::int64_t batch() const { return input().shape.batch; }

  void predict_batch(std::int64_t first, const PredictionRows& to, golden::ThreadTeam& readers) {
    std::unique_ptr<Batch> batch = take_batch();
    const std::size_t one = batch->input.bytes.size() / static_cast<std::size_t>(this->batch());
    const std::span<std::byte> levels = std::span(batch->input.bytes).first(one * to.size());
    StageSeconds seconds;
    timed(seconds.reading, [&] { network_.pictures.read_levels(first, input(), levels, readers); });
    timed(seconds.computing, [&] { runner_->run(batch->input, batch->outputs); });
    timed(seconds.judging, [&] { take_levels(batch->outputs.back(), form_, to); });
    const std::lock_guard lock(mutex_);
    stages_.add(seconds);
    idle_.push_back(std::move(batch));
  }

  std::unique_ptr<Batch> take_batch() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      return std::make_unique<Batch>(Batch{Tensor(input().dtype, input().shape.nhwc()), {}});
    }
    std::unique_ptr<Batch> batch = std::move(idle_.back());
    idle_.pop_back();
    return batch;
  }

  const EvalNetwork& network_;
  golden::ThreadTeam& team_;
  OutputForm form_;
  std::unique_ptr<GoldenRunner> runner_;
  std::mutex mutex_;
  StageSeconds stages_;
  std::vector<std::unique_ptr<Batch>> idle_;
};

}  // namespace

std::unique_ptr<EvalEngine> make_golden_engine(GoldenSelection& selection,
                                               const EvalNetwork& network,
                                               golden::ThreadTeam& team) {
  return std::make_unique<GoldenEngine>(selection, network, team);
}

}  // namespace qsim::cli
