// The engines of `eval` that execute the compiled program: the accelerator's SystemC model.
#pragma once

#include <memory>

#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "core/machine/engine.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// Makes an engine for network.model, whose graph has the batch that it computes at a time. All
// arguments must outlive the engine. Throws the compiler's Error.
std::unique_ptr<EvalEngine> make_program_engine(Engine& engine, const EvalNetwork& network,
                                                golden::ThreadTeam& team);

}  // namespace qsim::cli
