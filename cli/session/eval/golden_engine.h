// The engine `golden` of `eval`: the accelerator's arithmetic on the CPU, a batch a thread, or on a
// GPU.
#pragma once

#include <memory>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// Makes an engine for network.model, whose graph has the batch that it computes at a time. All
// arguments must outlive the engine. Throws the Error of golden's executor.
std::unique_ptr<EvalEngine> make_golden_engine(GoldenSelection& selection,
                                               const EvalNetwork& network,
                                               golden::ThreadTeam& team);

}  // namespace qsim::cli
