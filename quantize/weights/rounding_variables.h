// The variables V of learned rounding (adaptive_rounding.h) and one step of Adam on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qsim::quantize {

// Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015) with its usual
// decays, 0.9 and 0.999.
class AdamStep {
 public:
  explicit AdamStep(double learning_rate) : learning_rate_(learning_rate) {}

  // To the next step; before the first one too.
  void advance() {
    mean_left_ *= kMeanDecay;
    square_left_ *= kSquareDecay;
  }
  // What the running means are multiplied by, so that they are unbiased; the first with the rate.
  float mean_factor() const { return static_cast<float>(learning_rate_ / (1 - mean_left_)); }
  float square_factor() const { return static_cast<float>(1 / (1 - square_left_)); }

  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;

 private:
  double learning_rate_;
  double mean_left_ = 1;
  double square_left_ = 1;
};

struct StepRule {
  double lambda;
  int beta;  // at least 2
  const AdamStep& adam;
};

class RoundingVariables {
 public:
  struct Range {
    std::size_t first;
    std::size_t count;
  };

  explicit RoundingVariables(std::int64_t count);

  // A weight between `down` and `down + step` (0: it has no choice), `share` of the way up: V
  // starts where h is the share. Its error counts `weight_of_error` times.
  void set(std::size_t index, double down, double step, double share, double weight_of_error);
  // reals[i] = down + h step of the range's weights.
  void soften(Range range, float* reals) const;
  // One step of Adam. sums and targets: w' G and t of the range's weights.
  void descend(Range range, const float* sums, const float* targets, const StepRule& rule);
  // The hard choice: h of at least one half.
  bool is_up(std::size_t index) const { return v_[index] >= 0; }

 private:
  std::vector<float> v_;
  std::vector<float> down_;
  std::vector<float> step_;
  std::vector<float> error_weight_;
  std::vector<float> mean_;    // of Adam's gradients
  std::vector<float> square_;  // of their squares
};

}  // namespace qsim::quantize
