// Learned rounding: whether each weight goes to the level below or above it is chosen to keep the
// layer's sums, not each weight, near (the objective of AdaRound: Nagel et al., "Up or Down?
// Adaptive Rounding for Post-Training Quantization", ICML 2020). Scales stay as they are.
//
// Each weight has a number V; h = clip(1.2 sigmoid(V) - 0.1, 0, 1) says how far up it is. Adam
// minimises over V, for each output channel,
//   error(h) / unit + lambda * sum over weights of 1 - |2 h - 1|^beta,
// error as in rounding_problem.h, by the gradient 2 (w' G - t): no sample is needed after G. `unit`
// is the error that rounding to nearest is expected to make in one weight, scale^2 / 12 * the mean
// of diag(G), so that lambda means the same in every layer. beta falls from 20 to 2 in whole steps,
// and lambda is 0 in the first fifth of the steps. Then every h becomes 0 or 1, and single
// weights change sides while that lowers the error. Of this and of `nearest` after the same changes
// of sides, each channel takes what has the lower error: so none is worse than `nearest`.
#pragma once

#include <functional>
#include <vector>

#include "golden/common/thread_team.h"
#include "quantize/weights/rounding_problem.h"

namespace qsim::quantize {

struct AdaptiveRounding {
  int steps = 200;
  double learning_rate = 0.03;
  double lambda = 20;
};

// `weights` [Cout][...] and `nearest`, its quantization to levels of `grid`; one problem a group,
// the groups' output channels one after the other. No random number is drawn: the same bits for any
// number of threads.
QuantizedWeights round_adaptively(const Tensor& weights, const QuantizedWeights& nearest,
                                  const LevelGrid& grid,
                                  const std::vector<RoundingProblem>& problems,
                                  const AdaptiveRounding& options, golden::ThreadTeam& team);

}  // namespace qsim::quantize
