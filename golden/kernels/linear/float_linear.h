// The float layer that a weight-only one is compared with: y = x W^T + b in FP32, in vector order.
// Its bits depend on the instruction set; nothing else of golden does.
#pragma once

#include "golden/common/thread_team.h"
#include "golden/common/vector_path.h"
#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

// y [M][N] in FP32 of x [M][K], weights [N][K] and bias [N] (empty: none). Throws Error for a path
// that is not available; the sizes must fit.
FloatMatrix float_linear(const FloatMatrix& x, std::span<const float> weights,
                         std::span<const float> bias, VectorPath path, ThreadTeam& team);

}  // namespace qsim::golden
