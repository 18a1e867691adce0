// The engines of `eval` for a network with a host: golden or an engine of the accelerator runs the
// parts, golden's host the rest; a picture at a time.
#pragma once

#include <memory>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "core/machine/engine.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// Make an engine for network.hosted. All arguments must outlive it. On the CPU golden takes a
// picture a thread. They throw the Error of golden's executor, or the compiler's.
std::unique_ptr<EvalEngine> make_hosted_golden(GoldenSelection& selection,
                                               const EvalNetwork& network,
                                               golden::ThreadTeam& team);
std::unique_ptr<EvalEngine> make_hosted_program(Engine& engine, const EvalNetwork& network);

// Bytes that a picture takes of the host.
std::int64_t hosted_picture_bytes(const EvalNetwork& network);

}  // namespace qsim::cli
