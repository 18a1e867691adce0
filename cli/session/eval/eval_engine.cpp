#include "cli/session/eval/eval_engine.h"

#include <algorithm>
#include <mutex>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/memory_need.h"
#include "compiler/compile.h"
#include "core/checked_math.h"
#include "core/dram_layout.h"
#include "golden/common/team_parts.h"

namespace qsim {
namespace {

constexpr std::int64_t kBatch = 32;

// So many pictures at a time that every thread has work, at most kBatch without --batch.
std::int64_t batch_of(const Options& options, const EvalNetwork& network, std::int64_t threads) {
  const std::int64_t pictures = network.pictures.count();
  if (options.batch) return std::min(*options.batch, pictures);
  return std::clamp<std::int64_t>((pictures + threads - 1) / threads, 1, kBatch);
}

// The predictions of the pictures whose last tensor is `last`, [N] and any shape of a picture.
void take_predictions(const Tensor& last, const OutputForm& form, std::span<Prediction> to) {
  const Tensor classes = output_to_host(last, form, false);
  const std::size_t one = classes.bytes.size() / static_cast<std::size_t>(classes.shape.front());
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = prediction_of(std::span(classes.bytes).subspan(i * one, one), form.value.is_unsigned());
  }
}

// One batch through an engine after the other: its tensors, used again.
struct Batch {
  Tensor input;
  std::vector<Tensor> outputs;
};

class GoldenEngine final : public EvalEngine {
 public:
  GoldenEngine(Context& context, EvalNetwork& network, golden::ThreadTeam& team)
      : network_(network),
        team_(team),
        form_(output_form(network.model.graph)),
        selection_("--backend", context.options().backend,
                   [&context](const std::string& line) { context.note(line); }),
        runner_(selection_.runner(network.model.graph, GoldenKeep::kLastLayer)) {}

  std::string backend() const override {
    return std::string(golden_backend_name(runner_->backend()));
  }
  bool is_integer() const override { return true; }
  std::int64_t pictures_at_once() const override {
    return batch() * (is_cpu() ? team_.threads() : 1);
  }

  void predict(std::int64_t first, std::span<Prediction> to) override {
    const auto size = static_cast<std::size_t>(batch());
    const std::size_t parts = (to.size() + size - 1) / size;
    const auto part_of = [&](std::size_t part, golden::ThreadTeam& readers) {
      const std::size_t at = part * size;
      predict_batch(first + static_cast<std::int64_t>(at),
                    to.subspan(at, std::min(size, to.size() - at)), readers);
    };
    if (is_cpu()) {
      golden::run_parts(team_, parts, [&](std::size_t part) {
        golden::ThreadTeam alone(1);
        part_of(part, alone);
      });
      return;
    }
    for (std::size_t part = 0; part < parts; ++part) part_of(part, team_);
  }

 private:
  bool is_cpu() const { return runner_->backend() == GoldenBackend::kCpu; }
  std::int64_t batch() const { return network_.model.graph.input_value().shape.batch; }

  void predict_batch(std::int64_t first, std::span<Prediction> to, golden::ThreadTeam& readers) {
    const Value& value = network_.model.graph.input_value();
    std::unique_ptr<Batch> batch = take_batch();
    const std::size_t one = batch->input.bytes.size() / static_cast<std::size_t>(this->batch());
    network_.pictures.read_levels(first, value,
                                  std::span(batch->input.bytes).first(one * to.size()), readers);
    runner_->run(batch->input, batch->outputs);
    take_predictions(batch->outputs.back(), form_, to);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(batch));
  }

  std::unique_ptr<Batch> take_batch() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      const Value& value = network_.model.graph.input_value();
      return std::make_unique<Batch>(Batch{Tensor(value.dtype, value.shape.nhwc()), {}});
    }
    std::unique_ptr<Batch> batch = std::move(idle_.back());
    idle_.pop_back();
    return batch;
  }

  EvalNetwork& network_;
  golden::ThreadTeam& team_;
  OutputForm form_;
  GoldenSelection selection_;
  std::unique_ptr<GoldenRunner> runner_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Batch>> idle_;
};

// One program, one batch after the other: SystemC has one model a process, in one thread.
class ProgramEngine final : public EvalEngine {
 public:
  ProgramEngine(Engine& engine, const ArchConfig& config, EvalNetwork& network,
                golden::ThreadTeam& team)
      : network_(network),
        team_(team),
        form_(output_form(network.model.graph)),
        program_(compile(network.model.graph, config)),
        engine_(engine),
        input_(network.model.graph.input_value().dtype,
               network.model.graph.input_value().shape.nhwc()) {}

  bool is_integer() const override { return true; }
  std::int64_t pictures_at_once() const override { return input_.shape.front(); }

  void predict(std::int64_t first, std::span<Prediction> to) override {
    const auto size = static_cast<std::size_t>(pictures_at_once());
    for (std::size_t at = 0; at < to.size(); at += size) {
      predict_batch(first + static_cast<std::int64_t>(at),
                    to.subspan(at, std::min(size, to.size() - at)));
    }
  }

 private:
  void predict_batch(std::int64_t first, std::span<Prediction> to) {
    const std::size_t one = input_.bytes.size() / static_cast<std::size_t>(input_.shape.front());
    network_.pictures.read_levels(first, network_.model.graph.input_value(),
                                  std::span(input_.bytes).first(one * to.size()), team_);
    std::optional<Tensor> last;
    engine_.run(program_, input_,
                {.take_ofmap = [&](std::size_t layer, std::span<const std::byte> dram) {
                  if (layer + 1 == program_.layers.size()) {
                    last = unpack(program_.layers[layer].ofmap, dram);
                  }
                }});
    QSIM_CHECK(last.has_value(), "the engine hands the last ofmap over");
    take_predictions(*last, form_, to);
  }

  EvalNetwork& network_;
  golden::ThreadTeam& team_;
  OutputForm form_;
  Program program_;
  Engine& engine_;
  Tensor input_;
};

// What the batches of the other threads take, and the predictions.
std::int64_t more_bytes(const EvalNetwork& network, std::int64_t threads) {
  std::int64_t largest = 0;
  for (const Value& tensor : network.model.graph.tensors) {
    largest = std::max(largest, element_count(tensor.shape.nhwc()));
  }
  return checked_add(checked_mul(threads - 1, checked_mul(4, largest)),
                     network.pictures.count() * std::int64_t{sizeof(Prediction)});
}

}  // namespace

EvalEngines::EvalEngines(Context& context, const ArchConfig& config, golden::ThreadTeam& team)
    : context_(context), config_(config), team_(team) {}

EvalEngines::~EvalEngines() = default;

void EvalEngines::require_room(EvalNetwork& network) const {
  set_batch(network.model.graph, batch_of(context_.options(), network, team_.threads()));
  require_memory_for(network.name, network.model.graph, config_, context_.options(), {},
                     more_bytes(network, team_.threads()));
}

std::unique_ptr<EvalEngine> EvalEngines::make(const std::string& name, EvalNetwork& network) {
  const bool is_golden = name == "golden";
  set_batch(network.model.graph,
            batch_of(context_.options(), network, is_golden ? team_.threads() : 1));
  if (is_golden) return std::make_unique<GoldenEngine>(context_, network, team_);
  if (!program_engine_) program_engine_ = make_engine(name);
  return std::make_unique<ProgramEngine>(*program_engine_, config_, network, team_);
}

}  // namespace qsim
