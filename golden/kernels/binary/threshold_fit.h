// Thresholds of bases chosen by the squared error that they leave, where training does not give
// them: v and beta of activations from samples of them, u of weights from the weights.
#pragma once

#include <span>
#include <vector>

namespace qsim::golden {

struct ActivationFit {
  std::vector<float> v;      // [bases], of ThresholdQuantizer
  std::vector<float> beta;   // [bases]
  double squared_error = 0;  // sum over samples of (x - sum of beta_j A_j)^2
};

// v and beta by coordinate descent; the betas are least squares, as the weights' alphas. The
// thresholds begin at even quantiles of the samples. In turn, each moves to the one of 256
// quantiles that leaves the least squared error, until none moves. The result is a local minimum,
// and the same on every machine. Throws Error for no samples, samples that are not finite, or bases
// not in 1..kMostBases.
ActivationFit fit_activations(std::span<const float> samples, int bases);

// u of the weights of one group, likewise; binarize() then finds the alphas.
std::vector<double> fit_u(std::span<const float> w, int bases);

}  // namespace qsim::golden
