#include "golden/kernels/binary/binary_weights.h"

#include <cmath>

#include "core/base/checked_math.h"
#include "golden/common/float_environment.h"
#include "golden/kernels/binary/least_squares.h"

namespace qsim::golden {
namespace {

struct Moments {
  double mean;
  double deviation;  // sum of (W - mean)^2
};

Moments moments_of(std::span<const float> w) {
  double sum = 0;
  for (const float value : w) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(w.size());
  double deviation = 0;
  for (const float value : w) {
    const double distance = static_cast<double>(value) - mean;
    deviation += distance * distance;
  }
  return {mean, deviation};
}

void require_valid(std::span<const float> w, const WeightShape& shape, std::span<const double> u) {
  require_weight_count(shape, w.size());
  if (u.empty() || u.size() > static_cast<std::size_t>(kMostBases)) {
    throw_bad_input("binary weights have " + std::to_string(u.size()) + " bases; allowed: 1 to " +
                    std::to_string(kMostBases));
  }
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (std::isfinite(u[i])) continue;
    throw_bad_input("u of base " + std::to_string(i) + " of binary weights is not finite");
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (std::isfinite(w[i])) continue;
    throw_bad_input("weight " + std::to_string(i) +
                    " is not finite; binary weights need finite "
                    "numbers");
  }
}

// The bases of one group: signs [bases][n] of +1 and -1.
std::vector<std::int8_t> signs_of(std::span<const float> w, std::span<const double> u) {
  const Moments moments = moments_of(w);
  const double std = std::sqrt(moments.deviation / static_cast<double>(w.size()));
  std::vector<std::int8_t> signs(u.size() * w.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double shift = u[i] * std;
    for (std::size_t k = 0; k < w.size(); ++k) {
      const double centred = static_cast<double>(w[k]) - moments.mean;
      signs[i * w.size() + k] = centred + shift >= 0 ? 1 : -1;
    }
  }
  return signs;
}

std::vector<float> alphas_of(std::span<const float> w, std::span<const std::int8_t> signs,
                             std::size_t bases) {
  const std::size_t n = w.size();
  std::vector<std::int64_t> gram(bases * bases);
  std::vector<double> products(bases);
  for (std::size_t i = 0; i < bases; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      const int sign = signs[i * n + k];
      products[i] += sign * static_cast<double>(w[k]);
      for (std::size_t j = 0; j < bases; ++j) gram[i * bases + j] += sign * signs[j * n + k];
    }
  }
  std::vector<float> alpha;
  for (const double exact : solve_bases(gram, products)) alpha.push_back(static_cast<float>(exact));
  return alpha;
}

// Writes the bits of the group's weights, which begin at element `first` of the layer.
void store_signs(std::span<const std::int8_t> signs, std::size_t first, BinaryWeights& weights) {
  const auto channels = static_cast<std::size_t>(weights.shape.channels);
  const auto taps = static_cast<std::size_t>(weights.shape.taps());
  const auto words = static_cast<std::size_t>(bit_words(weights.shape.channels));
  const auto bases = static_cast<std::size_t>(weights.bases);
  const std::size_t n = signs.size() / bases;
  for (std::size_t i = 0; i < bases; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      if (signs[i * n + k] < 0) continue;
      const std::size_t element = first + k;
      const std::size_t c = element % channels;
      const std::size_t tap = element / channels % taps;
      const std::size_t out_channel = element / channels / taps;
      const std::size_t word = ((out_channel * bases + i) * taps + tap) * words + c / kBitsPerWord;
      weights.words[word] |= std::uint64_t{1} << (c % kBitsPerWord);
    }
  }
}

}  // namespace

void require_weight_count(const WeightShape& shape, std::size_t found) {
  const Shape sizes = {shape.out_channels, shape.kernel_h, shape.kernel_w, shape.channels};
  for (const std::int64_t size : sizes) {
    if (size >= 1) continue;
    throw_bad_input("binary weights have the shape " + shape_text(sizes) +
                    " [out_channels, kernel_h, kernel_w, channels]; each must be at least 1");
  }
  if (static_cast<std::int64_t>(found) != element_count(sizes)) {
    throw_bad_input("binary weights of the shape " + shape_text(sizes) + " have " +
                    std::to_string(element_count(sizes)) + " values; found " +
                    std::to_string(found));
  }
}

std::vector<double> even_u(int bases) {
  std::vector<double> u(static_cast<std::size_t>(bases), 0.0);
  if (bases == 1) return u;
  for (int i = 0; i < bases; ++i) u[static_cast<std::size_t>(i)] = -1 + 2.0 * i / (bases - 1);
  return u;
}

namespace {

[[gnu::noinline]] BinarizedWeights bases_of(std::span<const float> w, const WeightShape& shape,
                                            std::span<const double> u, AlphaGroup group) {
  BinarizedWeights result;
  BinaryWeights& weights = result.weights;
  weights.shape = shape;
  weights.bases = static_cast<int>(u.size());
  const auto out_channels = static_cast<std::size_t>(shape.out_channels);
  weights.words.resize(out_channels * u.size() * static_cast<std::size_t>(shape.taps()) *
                       static_cast<std::size_t>(bit_words(shape.channels)));
  weights.alpha.resize(u.size() * out_channels);
  const std::size_t groups = group == AlphaGroup::kChannel ? out_channels : 1;
  const std::size_t n = w.size() / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::span<const float> part = w.subspan(g * n, n);
    const std::vector<std::int8_t> signs = signs_of(part, u);
    const std::vector<float> alpha = alphas_of(part, signs, u.size());
    store_signs(signs, g * n, weights);
    for (std::size_t i = 0; i < u.size(); ++i) {
      for (std::size_t o = 0; o < out_channels; ++o) {
        if (groups == 1 || o == g) weights.alpha[i * out_channels + o] = alpha[i];
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      double rest = static_cast<double>(part[k]);
      for (std::size_t i = 0; i < u.size(); ++i) {
        rest -= static_cast<double>(alpha[i]) * signs[i * n + k];
      }
      result.squared_error += rest * rest;
    }
  }
  result.squared_deviation = moments_of(w).deviation;
  return result;
}

}  // namespace

BinarizedWeights binarize(std::span<const float> w, const WeightShape& shape,
                          std::span<const double> u, AlphaGroup group) {
  require_valid(w, shape, u);
  const FloatEnvironment environment;
  return bases_of(w, shape, u, group);
}

std::vector<float> dequantize(const BinaryWeights& weights) {
  const WeightShape& shape = weights.shape;
  std::vector<float> values;
  for (std::int64_t o = 0; o < shape.out_channels; ++o) {
    for (std::int64_t tap = 0; tap < shape.taps(); ++tap) {
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        float sum = 0;
        for (int i = 0; i < weights.bases; ++i) {
          const std::uint64_t word = weights.tap(o, i, tap)[c / kBitsPerWord];
          const float sign = (word >> (c % kBitsPerWord) & 1) != 0 ? 1.0F : -1.0F;
          const auto index = static_cast<std::size_t>(i * shape.out_channels + o);
          sum = std::fma(weights.alpha[index], sign, sum);
        }
        values.push_back(sum);
      }
    }
  }
  return values;
}

}  // namespace qsim::golden
