#include "cli/session/eval/program_engine.h"

#include <algorithm>
#include <optional>

#include "compiler/compile.h"
#include "core/machine/dram_layout.h"

namespace qsim::cli {
namespace {

// One program, one batch after the other: SystemC has one model a process, in one thread.
class ProgramEngine final : public EvalEngine {
 public:
  ProgramEngine(Engine& engine, const EvalNetwork& network, golden::ThreadTeam& team)
      : network_(network),
        team_(team),
        form_(output_form(network.model->graph)),
        program_(compiler::compile(network.model->graph, network.config)),
        engine_(engine),
        input_(network.model->graph.input_value().dtype,
               network.model->graph.input_value().shape.nhwc()) {}

  bool is_integer() const override { return true; }
  std::int64_t pictures_at_once() const override { return input_.shape.front(); }

  void predict(std::int64_t first, const PredictionRows& to) override {
    const auto size = static_cast<std::size_t>(pictures_at_once());
    for (std::size_t at = 0; at < to.size(); at += size) {
      predict_batch(first + static_cast<std::int64_t>(at),
                    to.part(at, std::min(size, to.size() - at)));
    }
  }

 private:
  void predict_batch(std::int64_t first, const PredictionRows& to) {
    const std::size_t one = input_.bytes.size() / static_cast<std::size_t>(input_.shape.front());
    network_.pictures.read_levels(first, network_.model->graph.input_value(),
                                  std::span(input_.bytes).first(one * to.size()), team_);
    std::optional<Tensor> last;
    engine_.run(program_, input_,
                {.take_ofmap = [&](std::size_t layer, std::span<const std::byte> dram) {
                  if (layer + 1 == program_.layers.size()) {
                    last = unpack(program_.layers[layer].ofmap, dram);
                  }
                }});
    QSIM_CHECK(last.has_value(), "the engine hands the last ofmap over");
    take_levels(*last, form_, to);
  }

  const EvalNetwork& network_;
  golden::ThreadTeam& team_;
  OutputForm form_;
  Program program_;
  Engine& engine_;
  Tensor input_;
};

}  // namespace

std::unique_ptr<EvalEngine> make_program_engine(Engine& engine, const EvalNetwork& network,
                                                golden::ThreadTeam& team) {
  return std::make_unique<ProgramEngine>(engine, network, team);
}

}  // namespace qsim::cli
