// The engines of `eval` that compute in float32: the float network, and a quantized one in fake
// quantization.
#pragma once

#include <memory>

#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "golden/common/thread_team.h"

namespace qsim {

// Of network.real. Network and team must outlive the engine.
std::unique_ptr<EvalEngine> make_float_engine(const EvalNetwork& network, std::int64_t batch,
                                              golden::ThreadTeam& team);
// Of network.model. Throws Error (exit code 4) for a layer that fake quantization does not know.
std::unique_ptr<EvalEngine> make_fake_engine(const EvalNetwork& network, std::int64_t batch,
                                             golden::ThreadTeam& team);

// Bytes that either takes beyond those of its network.
std::int64_t real_engine_bytes(const EvalNetwork& network, std::int64_t batch,
                               std::int64_t threads);

}  // namespace qsim
