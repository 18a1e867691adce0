#include "quantize/bias_correction.h"

#include "core/error.h"

namespace qsim::quantize {

std::vector<double> channel_means(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  std::vector<double> means(static_cast<std::size_t>(tensor.shape.back()));
  for (std::size_t i = 0; i < values.size();) {
    for (double& mean : means) mean += static_cast<double>(values[i++]);
  }
  const auto count = static_cast<double>(values.size()) / static_cast<double>(means.size());
  for (double& mean : means) mean /= count;
  return means;
}

std::vector<float> corrected_bias(const std::vector<float>& bias, const Tensor& float_sums,
                                  const Tensor& quantized_sums) {
  const std::vector<double> wanted = channel_means(float_sums);
  const std::vector<double> found = channel_means(quantized_sums);
  QSIM_CHECK(wanted.size() == bias.size() && found.size() == bias.size(), "channels differ");
  std::vector<float> corrected(bias.size());
  for (std::size_t c = 0; c < bias.size(); ++c) {
    corrected[c] = static_cast<float>(static_cast<double>(bias[c]) + wanted[c] - found[c]);
  }
  return corrected;
}

}  // namespace qsim::quantize
