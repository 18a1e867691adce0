#include "golden/graph/cuda/wide_weights.h"

#include <algorithm>

namespace qsim::golden::cuda {
namespace {

constexpr int kMostOfTwo = 127 + 127;

std::int8_t nearest_int8(int value) {
  return static_cast<std::int8_t>(std::clamp(value, -128, 127));
}

}  // namespace

int weight_parts(const Tensor& weights) {
  if (weights.dtype == DType::kInt8) return 1;
  const auto wide = weights.as<std::int16_t>();
  return std::any_of(wide.begin(), wide.end(), [](int w) { return w > kMostOfTwo; }) ? 3 : 2;
}

std::vector<std::int8_t> split_weights(const Tensor& weights) {
  if (weights.dtype == DType::kInt8) {
    const auto bytes = weights.as<std::int8_t>();
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::int16_t> left(weights.as<std::int16_t>().begin(),
                                 weights.as<std::int16_t>().end());
  const std::size_t depth = left.size() / static_cast<std::size_t>(weights.shape[0]);
  const int parts = weight_parts(weights);
  std::vector<std::int8_t> split;
  split.reserve(static_cast<std::size_t>(parts) * left.size());
  for (std::size_t row = 0; row < left.size(); row += depth) {
    for (int part = 0; part < parts; ++part) {
      for (std::size_t k = row; k < row + depth; ++k) {
        split.push_back(nearest_int8(left[k]));
        left[k] = static_cast<std::int16_t>(left[k] - split.back());
      }
    }
  }
  return split;
}

}  // namespace qsim::golden::cuda
