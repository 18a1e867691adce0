// The engines of `eval` that compute in float32, where `selection` says: the float network, and a
// quantized one in fake quantization.
#pragma once

#include <memory>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/eval/eval_engine.h"
#include "cli/session/eval/eval_network.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// Makes an engine for network.real. Network and team must outlive the engine.
std::unique_ptr<EvalEngine> make_float_engine(GoldenSelection& selection,
                                              const EvalNetwork& network, std::int64_t batch,
                                              golden::ThreadTeam& team);
// Makes an engine for network.model. Throws Error (exit code 4) for a layer that fake quantization
// does not know.
std::unique_ptr<EvalEngine> make_fake_engine(GoldenSelection& selection, const EvalNetwork& network,
                                             std::int64_t batch, golden::ThreadTeam& team);

// Elements of the largest tensor of a picture, of the float network and of the quantized one.
std::int64_t largest_tensor_elems(const EvalNetwork& network);

// Bytes that either takes beyond those of its network.
std::int64_t real_engine_bytes(const EvalNetwork& network, std::int64_t batch,
                               std::int64_t threads);

}  // namespace qsim::cli
