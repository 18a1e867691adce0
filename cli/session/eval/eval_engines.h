// The engines of `eval` by name: the one place that makes them. An engine more is a row in
// kEvalEngines (eval_options.h), a case in make() and its memory in require_room().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "cli/session/eval/eval_options.h"
#include "cli/terminal/context.h"
#include "core/machine/engine.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// Makes the engines, one after the other: an engine is gone before the next one of its network is
// made, since they set the graph's batch.
class EvalEngines {
 public:
  // All of them must outlive this object.
  EvalEngines(Context& context, const EvalOptions& options, golden::ThreadTeam& team);
  ~EvalEngines();

  // Throws Error where the network's engines take more memory than there is, and where the
  // accelerator cannot run the network on an engine that needs it.
  void require_room(EvalNetwork& network) const;
  // `name` is one of kEvalEngines, and the network can have it.
  std::unique_ptr<EvalEngine> make(const std::string& name, EvalNetwork& network);

 private:
  GoldenSelection& selection();  // one for all engines: what it falls back to holds for the next
  Engine& program_engine(const std::string& name);
  bool is_on_gpu(const std::string& name);
  std::int64_t batch_for(const std::string& name, const EvalNetwork& network);

  Context& context_;
  const EvalOptions& options_;
  golden::ThreadTeam& team_;
  std::optional<GoldenSelection> selection_;
  std::unique_ptr<Engine> program_engine_;  // SystemC elaborates once a process
};

}  // namespace qsim::cli
