#include "quantize/bias_correction.h"

#include <algorithm>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

// The error is quadratic between the sums that enter or leave the clamp, so few steps are enough.
constexpr int kSteps = 6;

// Of one channel's clamped sums when `shift` is added to the quantized network's.
struct ChannelError {
  double squares = 0;
  double gradient = 0;     // half the derivative of `squares` by the shift
  std::int64_t moves = 0;  // sums inside the clamp: half the second derivative
};

std::vector<ChannelError> errors_with(const std::vector<double>& shifts, const Tensor& float_sums,
                                      const Tensor& quantized_sums, const ClampRange& clamp) {
  const auto wanted = float_sums.as<float>();
  const auto found = quantized_sums.as<float>();
  const double low = clamp.low;
  const double high = clamp.high;
  std::vector<ChannelError> errors(shifts.size());
  for (std::size_t i = 0; i < found.size();) {
    for (std::size_t c = 0; c < shifts.size(); ++c, ++i) {
      const double sum = static_cast<double>(found[i]) + shifts[c];
      const double error =
          std::clamp(sum, low, high) - std::clamp(static_cast<double>(wanted[i]), low, high);
      errors[c].squares += error * error;
      const bool moves = sum > low && sum < high;
      errors[c].gradient += moves ? error : 0;
      errors[c].moves += moves ? 1 : 0;
    }
  }
  return errors;
}

}  // namespace

std::vector<float> corrected_bias(const std::vector<float>& bias, const Tensor& float_sums,
                                  const Tensor& quantized_sums, const ClampRange& clamp) {
  QSIM_CHECK(float_sums.shape == quantized_sums.shape &&
                 float_sums.shape.back() == static_cast<std::int64_t>(bias.size()),
             "channels differ");
  std::vector<double> shifts(bias.size());
  std::vector<double> best(bias.size());
  std::vector<double> least(bias.size());
  for (int step = 0; step < kSteps; ++step) {
    const auto errors = errors_with(shifts, float_sums, quantized_sums, clamp);
    for (std::size_t c = 0; c < bias.size(); ++c) {
      if (step == 0 || errors[c].squares < least[c]) {
        least[c] = errors[c].squares;
        best[c] = shifts[c];
      }
      if (errors[c].moves == 0) continue;  // a channel that the clamp hides
      shifts[c] -= errors[c].gradient / static_cast<double>(errors[c].moves);
    }
  }
  std::vector<float> corrected(bias.size());
  for (std::size_t c = 0; c < bias.size(); ++c) {
    corrected[c] = static_cast<float>(static_cast<double>(bias[c]) + best[c]);
  }
  return corrected;
}

}  // namespace qsim::quantize
