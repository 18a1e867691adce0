#include "quantize/weights/rounding_variables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

// The sigmoid is stretched to -0.1..1.1 and cut, so that h reaches 0 and 1.
constexpr float kStretch = 1.2F;
constexpr float kBelow = -0.1F;
constexpr float kMostV = 12;  // beyond it h has long been 0 or 1

// e^x for |x| <= kMostV, by 2^n e^r with |r| <= ln(2) / 2 and the Taylor series of e^r, whose error
// is below 2^-22. Not the C library's, whose bits depend on the processor.
inline float exponential(float x) {
  constexpr float kRound = 0x1.8p23F;  // the sum with it has no fraction bits
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float sum = 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127);
  return sum * std::bit_cast<float>(exponent << 23);
}

inline float sigmoid(float v) { return 1 / (1 + exponential(-v)); }

inline float cut(float stretched) { return std::min(1.0F, std::max(0.0F, stretched)); }

// The v whose sigmoid is `s`, 0.08 to 0.92, by Newton's steps: from 0 they do not overshoot.
float inverse_sigmoid(float s) {
  float v = 0;
  for (int step = 0; step < 8; ++step) {
    const float found = sigmoid(v);
    v += (s - found) / (found * (1 - found));
  }
  return v;
}

// base^exponent, exponent of 1 to 31.
inline float power(float base, int exponent) {
  float result = 1;
  float square = base;
#pragma GCC unroll 5
  for (int bit = 0; bit < 5; ++bit) {
    result *= (exponent >> bit & 1) != 0 ? square : 1.0F;
    square *= square;
  }
  return result;
}

QSIM_QUANTIZE_CLONES void soften_weights(const float* v, const float* down, const float* step,
                                         std::size_t count, float* reals) {
  for (std::size_t i = 0; i < count; ++i) {
    reals[i] = down[i] + step[i] * cut(kStretch * sigmoid(v[i]) + kBelow);
  }
}

struct Weights {
  float* v;
  float* mean;
  float* square;
  const float* step;
  const float* error_weight;
  const float* sums;
  const float* targets;
};

QSIM_QUANTIZE_CLONES void descend_weights(const Weights& w, std::size_t count, float lambda,
                                          int beta, float mean_factor, float square_factor) {
  constexpr auto kMean = static_cast<float>(AdamStep::kMeanDecay);
  constexpr auto kSquare = static_cast<float>(AdamStep::kSquareDecay);
  constexpr float kTiny = 1e-8F;
  const float regulariser = -2 * lambda * static_cast<float>(beta);
  for (std::size_t i = 0; i < count; ++i) {
    const float s = sigmoid(w.v[i]);
    const float stretched = kStretch * s + kBelow;
    const float h = cut(stretched);
    const float slope = stretched > 0 && stretched < 1 ? kStretch * s * (1 - s) : 0;
    const float centred = 2 * h - 1;
    const float steep = power(std::abs(centred), beta - 1);
    const float of_error = 2 * (w.sums[i] - w.targets[i]) * w.step[i] * w.error_weight[i];
    const float gradient = (of_error + regulariser * (centred < 0 ? -steep : steep)) * slope;
    w.mean[i] = kMean * w.mean[i] + (1 - kMean) * gradient;
    w.square[i] = kSquare * w.square[i] + (1 - kSquare) * gradient * gradient;
    const float change = mean_factor * w.mean[i] / (std::sqrt(square_factor * w.square[i]) + kTiny);
    w.v[i] = std::min(kMostV, std::max(-kMostV, w.v[i] - change));
  }
}

}  // namespace

RoundingVariables::RoundingVariables(std::int64_t count)
    : v_(static_cast<std::size_t>(count)),
      down_(v_.size()),
      step_(v_.size()),
      error_weight_(v_.size()),
      mean_(v_.size()),
      square_(v_.size()) {}

void RoundingVariables::set(std::size_t index, double down, double step, double share,
                            double weight_of_error) {
  v_[index] = inverse_sigmoid((static_cast<float>(share) - kBelow) / kStretch);
  down_[index] = static_cast<float>(down);
  step_[index] = static_cast<float>(step);
  error_weight_[index] = static_cast<float>(weight_of_error);
}

void RoundingVariables::soften(Range range, float* reals) const {
  soften_weights(v_.data() + range.first, down_.data() + range.first, step_.data() + range.first,
                 range.count, reals);
}

void RoundingVariables::descend(Range range, const float* sums, const float* targets,
                                const StepRule& rule) {
  const std::size_t first = range.first;
  const Weights weights{v_.data() + first,
                        mean_.data() + first,
                        square_.data() + first,
                        step_.data() + first,
                        error_weight_.data() + first,
                        sums,
                        targets};
  descend_weights(weights, range.count, static_cast<float>(rule.lambda), rule.beta,
                  rule.adam.mean_factor(), rule.adam.square_factor());
}

}  // namespace qsim::quantize
