// GPTQ: the weights of a row are rounded one after the other, and what each lost is made good by
// the ones that are not rounded yet (Frantar, Ashkboos, Hoefler, Alistarh, "GPTQ: Accurate
// Post-Training Quantization for Generative Pre-trained Transformers", ICLR 2023). Scales stay as
// they are.
//
// H = G + damping * mean of diag(G) * I. Frantar et al. take the Cholesky factor of H^-1. Here the
// columns are factored in the reverse of their order, H = L L^T, which gives the same levels
// without an inverse: with d = w' - w, the error d H d^T is
//   the sum over a of (L_aa d_a + sum over b > a of L_ba d_b)^2,
// so that the best real w'_a, once all b > a are rounded, is w_a - sum over b > a of L_ba d_b /
// L_aa; it is rounded to the nearest level. That is Babai's nearest plane in the lattice of L.
#pragma once

#include <vector>

#include "golden/common/thread_team.h"
#include "quantize/weights/rounding_problem.h"

namespace qsim::quantize {

struct Gptq {
  double damping = 0.01;
  // Columns of large G_kk first ("act-order"), or as they lie.
  bool large_inputs_first = true;
  // As published; true: a channel whose error (rounding_problem.h) has not become less than that of
  // `nearest` stays as `nearest` has it.
  bool keeps_nearest_if_better = true;
};

// As round_adaptively() (adaptive_rounding.h). The error that is minimised is that against the
// layer's own sums on the same inputs, (w' - w) G (w' - w)^T: `targets` is not used to round, only
// to judge. Inputs that are always 0 have an H_kk of 1, so that their weights go to nearest.
QuantizedWeights round_by_gptq(const Tensor& weights, const QuantizedWeights& nearest,
                               const LevelGrid& grid, const std::vector<RoundingProblem>& problems,
                               const Gptq& options, golden::ThreadTeam& team);

}  // namespace qsim::quantize
