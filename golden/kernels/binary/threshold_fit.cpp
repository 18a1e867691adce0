#include "golden/kernels/binary/threshold_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "golden/common/float_environment.h"
#include "golden/kernels/binary/bit_tensor.h"
#include "golden/kernels/binary/least_squares.h"

namespace qsim::golden {
namespace {

constexpr std::size_t kCandidates = 256;
constexpr int kMostPasses = 100;

// The samples in ascending order, and how well bases that split them do.
class SortedSamples {
 public:
  SortedSamples(std::span<const float> samples, int bases) {
    if (bases < 1 || bases > kMostBases) {
      throw_bad_input("thresholds are fitted for " + std::to_string(bases) +
                      " bases; allowed: 1 to " + std::to_string(kMostBases));
    }
    if (samples.empty()) throw_bad_input("thresholds are fitted to no samples; give at least one");
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (std::isfinite(samples[i])) continue;
      throw_bad_input("sample " + std::to_string(i) +
                      " is not finite; thresholds are fitted to finite numbers");
    }
    values_.assign(samples.begin(), samples.end());
    std::sort(values_.begin(), values_.end());
    sums_.push_back(0);
    for (const double value : values_) sums_.push_back(sums_.back() + value);
  }

  std::size_t count() const { return values_.size(); }

  // What least squares gains over all coefficients 0, with base i = -1 below values_[splits[i]].
  double gain(std::span<const std::size_t> splits) const {
    const std::size_t bases = splits.size();
    std::vector<std::int64_t> gram(bases * bases);
    std::vector<double> products(bases);
    const auto n = static_cast<std::int64_t>(count());
    for (std::size_t i = 0; i < bases; ++i) {
      products[i] = sums_.back() - 2 * sums_[splits[i]];
      for (std::size_t j = 0; j < bases; ++j) {
        const auto apart = static_cast<std::int64_t>(std::max(splits[i], splits[j]) -
                                                     std::min(splits[i], splits[j]));
        gram[i * bases + j] = n - 2 * apart;
      }
    }
    const std::vector<double> alpha = solve_bases(gram, products);
    double gain = 0;
    for (std::size_t i = 0; i < bases; ++i) gain += alpha[i] * products[i];
    return gain;
  }

  // Halfway between the neighbours of a split; below all for 0.
  double threshold(std::size_t split) const {
    if (split == 0) return values_.front() - std::abs(values_.front()) - 1;
    return values_[split - 1] + (values_[split] - values_[split - 1]) / 2;
  }

 private:
  std::vector<double> values_;
  std::vector<double> sums_;  // of the first i values
};

std::vector<std::size_t> candidates_of(const SortedSamples& samples) {
  std::vector<std::size_t> places;
  for (std::size_t q = 0; q < kCandidates; ++q) {
    const std::size_t place = q * samples.count() / kCandidates;
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  return places;
}

std::vector<std::size_t> best_splits(const SortedSamples& samples, int bases) {
  const std::vector<std::size_t> candidates = candidates_of(samples);
  std::vector<std::size_t> splits;
  for (int i = 1; i <= bases; ++i) {
    splits.push_back(samples.count() * static_cast<std::size_t>(i) /
                     static_cast<std::size_t>(bases + 1));
  }
  double best = samples.gain(splits);
  bool moved = true;
  for (int pass = 0; moved && pass < kMostPasses; ++pass) {
    moved = false;
    for (std::size_t& split : splits) {
      std::size_t best_place = split;
      for (const std::size_t place : candidates) {
        split = place;
        const double gain = samples.gain(splits);
        if (gain <= best) continue;
        best = gain;
        best_place = place;
        moved = true;
      }
      split = best_place;
    }
  }
  return splits;
}

[[gnu::noinline]] ActivationFit nearest_beta(std::span<const float> samples,
                                             std::span<const float> v) {
  const std::size_t bases = v.size();
  const ThresholdQuantizer quantizer{v};
  std::vector<std::int64_t> gram(bases * bases);
  std::vector<double> products(bases);
  std::vector<int> signs(bases);
  const auto take_signs = [&](float x) {
    for (std::size_t j = 0; j < bases; ++j) signs[j] = quantizer(x, j) ? 1 : -1;
  };
  for (const float x : samples) {
    take_signs(x);
    for (std::size_t i = 0; i < bases; ++i) {
      products[i] += signs[i] * static_cast<double>(x);
      for (std::size_t j = 0; j < bases; ++j) gram[i * bases + j] += signs[i] * signs[j];
    }
  }
  ActivationFit fit;
  fit.v.assign(v.begin(), v.end());
  for (const double beta : solve_bases(gram, products))
    fit.beta.push_back(static_cast<float>(beta));
  for (const float x : samples) {
    take_signs(x);
    double rest = static_cast<double>(x);
    for (std::size_t j = 0; j < bases; ++j) rest -= static_cast<double>(fit.beta[j]) * signs[j];
    fit.squared_error += rest * rest;
  }
  return fit;
}

[[gnu::noinline]] ActivationFit nearest_thresholds(std::span<const float> samples, int bases) {
  const SortedSamples sorted(samples, bases);
  std::vector<float> v;
  for (const std::size_t split : best_splits(sorted, bases)) {
    v.push_back(static_cast<float>(0.5 - sorted.threshold(split)));
  }
  return nearest_beta(samples, v);
}

[[gnu::noinline]] std::vector<double> nearest_u(std::span<const float> w, int bases) {
  const SortedSamples sorted(w, bases);
  double sum = 0;
  for (const float value : w) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(w.size());
  double deviation = 0;
  for (const float value : w)
    deviation += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  const double std = std::sqrt(deviation / static_cast<double>(w.size()));
  std::vector<double> u;
  for (const std::size_t split : best_splits(sorted, bases)) {
    u.push_back(std > 0 ? (mean - sorted.threshold(split)) / std : 0);
  }
  return u;
}

}  // namespace

ActivationFit fit_activations(std::span<const float> samples, int bases) {
  const FloatEnvironment environment;
  return nearest_thresholds(samples, bases);
}

std::vector<double> fit_u(std::span<const float> w, int bases) {
  const FloatEnvironment environment;
  return nearest_u(w, bases);
}

}  // namespace qsim::golden
