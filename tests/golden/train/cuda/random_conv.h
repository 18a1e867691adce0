// A random convolution of a training layer, and its gradients by plain loops in float64.
#pragma once

#include <string>
#include <vector>

#include "core/base/random.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden_test {

// A sum in float64, that of its terms' magnitudes, and their number.
struct ExactSum {
  double sum = 0;
  double magnitude = 0;
  std::int64_t terms = 0;
};

struct RandomConv {
  golden::train::LevelConv conv;  // shapes alone
  std::vector<std::int8_t> q, w;
  std::vector<std::uint16_t> g;
  std::vector<float> w_scales;
  std::int32_t zero_point = 0;
  float scale = 1;

  std::string text() const;
  // [B, H, W, C] and [O, kh, kw, C / groups], before scale and passes.
  std::vector<ExactSum> input_gradient() const;
  std::vector<ExactSum> weight_gradient() const;
};

RandomConv random_conv(Random& random);

}  // namespace qsim::golden_test
