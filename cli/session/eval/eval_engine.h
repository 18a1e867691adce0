// What judges pictures: golden on the CPU or a GPU, and the accelerator's model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/session/eval/eval_network.h"
#include "cli/session/eval/prediction.h"
#include "cli/terminal/context.h"
#include "core/engine.h"
#include "golden/common/thread_team.h"

namespace qsim {

class EvalEngine {
 public:
  virtual ~EvalEngine() = default;
  // "cpu", "cuda"; "" of an engine that has no choice.
  virtual std::string backend() const { return ""; }
  // Whether Prediction::bytes is of bytes.
  virtual bool is_integer() const = 0;
  // The pictures that keep it busy, at least.
  virtual std::int64_t pictures_at_once() const = 0;
  // Predictions of the network's pictures from `first` on, as many as `to` has. Throws Error for a
  // picture that cannot be read.
  virtual void predict(std::int64_t first, std::span<Prediction> to) = 0;
};

// Makes the engines, one after the other: an engine is gone before the next one of its network is
// made, since they set the graph's batch.
class EvalEngines {
 public:
  // All of them must outlive this object.
  EvalEngines(Context& context, const ArchConfig& config, golden::ThreadTeam& team);
  ~EvalEngines();

  // Throws Error where the network's engines take more memory than there is, and where the
  // accelerator cannot run the network on an engine that needs it.
  void require_room(EvalNetwork& network) const;
  // `name` is one of --engines.
  std::unique_ptr<EvalEngine> make(const std::string& name, EvalNetwork& network);

 private:
  Context& context_;
  const ArchConfig& config_;
  golden::ThreadTeam& team_;
  std::unique_ptr<Engine> program_engine_;  // SystemC elaborates once a process
};

}  // namespace qsim
