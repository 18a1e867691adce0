#include "cli/session/eval/eval_engines.h"

#include <algorithm>

#include "cli/session/engines/engines.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/eval/golden_engine.h"
#include "cli/session/eval/hosted_engine.h"
#include "cli/session/eval/program_engine.h"
#include "cli/session/eval/real_engine.h"
#include "cli/session/inputs/remedies.h"
#include "core/base/checked_math.h"
#include "formats/files/memory.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kMostOfAJob = 32;
// A GPU takes more pictures at a time, as long as a layer's tensors take at most so many bytes.
constexpr std::int64_t kGpuBatch = 1024;
constexpr std::int64_t kGpuBytes = std::int64_t{4} << 30;
constexpr std::int64_t kGpuTensors = 4;  // of one size at a time, at most

// So many pictures at a time that every thread has work, at most kMostOfAJob without --batch.
std::int64_t batch_of(const EvalOptions& options, const EvalNetwork& network,
                      std::int64_t threads) {
  const std::int64_t pictures = network.pictures.count();
  if (options.batch) return std::min(*options.batch, pictures);
  return std::clamp<std::int64_t>((pictures + threads - 1) / threads, 1, kMostOfAJob);
}

bool is_real(const std::string& engine) { return eval_engine_row(engine).is_real; }

bool runs_program(const std::string& engine) { return eval_engine_row(engine).runs_program; }

// What the predictions of all engines take.
std::int64_t prediction_bytes(const EvalNetwork& network) {
  const std::int64_t row =
      std::int64_t{sizeof(Prediction)} + network.classes * std::int64_t{sizeof(float)};
  return checked_mul(checked_mul(network.pictures.count(), row), std::ssize(network.engines));
}

// What the batches of the other threads take.
std::int64_t thread_bytes(const EvalNetwork& network, std::int64_t threads) {
  std::int64_t largest = 0;
  for (const Value& tensor : network.model->graph.tensors) {
    largest = std::max(largest, element_count(tensor.shape.nhwc()));
  }
  return checked_mul(threads - 1, checked_mul(4, largest));
}

}  // namespace

EvalEngines::EvalEngines(Context& context, const EvalOptions& options, golden::ThreadTeam& team)
    : context_(context), options_(options), team_(team) {}

EvalEngines::~EvalEngines() = default;

void EvalEngines::require_room(EvalNetwork& network) const {
  std::int64_t more = prediction_bytes(network);
  if (network.hosted) {
    more = checked_add(more, checked_mul(team_.threads(), hosted_picture_bytes(network)));
    return formats::require_memory(more, "model '" + network.name + "'");
  }
  if (std::any_of(network.engines.begin(), network.engines.end(), is_real)) {
    more = checked_add(
        more,
        real_engine_bytes(network, batch_of(options_, network, team_.threads()), team_.threads()));
  }
  if (!network.model) return formats::require_memory(more, "model '" + network.name + "'");
  set_batch(network.model->graph, batch_of(options_, network, team_.threads()));
  compiler::CompileOptions asked;
  asked.remedies = remedies_without_snap();
  const bool has_program = std::ranges::any_of(options_.engines, runs_program);
  require_memory_for(network.name, network.model->graph, network.config, need_of_eval(has_program),
                     asked, checked_add(more, thread_bytes(network, team_.threads())));
}

GoldenSelection& EvalEngines::selection() {
  if (!selection_) {
    selection_.emplace("--backend", options_.backend, context_.notes());
  }
  return *selection_;
}

bool EvalEngines::is_on_gpu(const std::string& name) {
  return !runs_program(name) && selection().backends().front() == GoldenBackend::kCuda;
}

std::int64_t EvalEngines::batch_for(const std::string& name, const EvalNetwork& network) {
  if (!is_on_gpu(name) || options_.batch) {
    return batch_of(options_, network, runs_program(name) ? 1 : team_.threads());
  }
  const std::int64_t elem_bytes = is_real(name) ? sizeof(float) : 1;
  const std::int64_t tensor = checked_mul(largest_tensor_elems(network), elem_bytes);
  const std::int64_t fits = kGpuBytes / checked_mul(tensor, kGpuTensors);
  return std::clamp<std::int64_t>(fits, 1, std::min(kGpuBatch, network.pictures.count()));
}

std::unique_ptr<EvalEngine> EvalEngines::make(const std::string& name, EvalNetwork& network) {
  if (network.hosted && !runs_program(name)) return make_hosted_golden(selection(), network, team_);
  if (network.hosted) return make_hosted_program(program_engine(name), network);
  const std::int64_t batch = batch_for(name, network);
  if (name == kFloatEngine) return make_float_engine(selection(), network, batch, team_);
  if (name == kFakeEngine) return make_fake_engine(selection(), network, batch, team_);
  set_batch(network.model->graph, batch);
  if (name == kGoldenEngine) return make_golden_engine(selection(), network, team_);
  return make_program_engine(program_engine(name), network, team_);
}

Engine& EvalEngines::program_engine(const std::string& name) {
  if (!program_engine_) program_engine_ = make_engine(name);
  return *program_engine_;
}

}  // namespace qsim::cli
