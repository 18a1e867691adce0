// What `eval` says: text for people, and JSON (schema qsim.eval/1, docs/reference/eval.md).
#pragma once

#include <string>
#include <vector>

#include "cli/session/eval/eval_network.h"
#include "cli/session/eval/eval_run.h"
#include "cli/session/eval/statistics.h"
#include "core/base/tensor.h"

namespace qsim::cli {

struct EvalPair {
  std::size_t first = 0;  // of the runs
  std::size_t second = 0;
  PairScore score;
};

struct EvalReport {
  std::vector<std::string> argv;
  std::vector<std::string> data;  // the paths of --data
  std::string config;             // of engine systemc; "" without it
  std::uint64_t seed = 0;
  bool is_sample = false;
  const std::vector<EvalNetwork>* networks = nullptr;
  std::vector<EngineRun> runs;
  std::vector<SeriesScore> scores;  // one a run; of no pictures where they have no labels
  std::vector<EvalPair> pairs;

  bool is_complete() const;
};

// Counts; `networks` must outlive the report.
EvalReport make_eval_report(const EvalOptions& options, const std::vector<std::string>& argv,
                            const std::vector<EvalNetwork>& networks, std::vector<EngineRun> runs);

std::string eval_text(const EvalReport& report);
std::string eval_json(const EvalReport& report);
// int32 [runs][pictures]: the best class; -1 where a run was interrupted before.
Tensor eval_predictions(const EvalReport& report);
// float32 [runs][pictures][classes]: the outputs; NaN where a run was interrupted before.
Tensor eval_outputs(const EvalReport& report);

}  // namespace qsim::cli
