// Runs the engines of `eval` over the pictures, and keeps what is finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "cli/session/eval/eval_options.h"
#include "cli/session/eval/prediction.h"
#include "cli/terminal/context.h"

namespace qsim::cli {

// What one engine said of the pictures of one network.
struct EngineRun {
  std::string engine;
  std::size_t network = 0;
  std::string backend;  // "" where it has no choice
  bool is_integer = true;
  PredictionTable table;                    // of the first pictures; of all, unless interrupted
  std::int64_t kept_before = 0;             // that were there, by --out
  double seconds = 0;                       // of the others, with reading the pictures
  std::optional<StageSeconds> stages = {};  // of `seconds`, where the engine says it

  std::int64_t done() const { return std::ssize(table.predictions); }
};

// In the order of networks and --engines. An interrupt ends the runs soon: the last one then has
// fewer predictions than there are pictures, or a run has none. Throws Error.
std::vector<EngineRun> run_engines(Context& context, const EvalOptions& options,
                                   std::vector<EvalNetwork>& networks);

}  // namespace qsim::cli
