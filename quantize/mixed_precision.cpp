#include "quantize/mixed_precision.h"

#include <algorithm>
#include <optional>

namespace qsim::quantize {
namespace {

std::optional<int> bits_below(int bits) {
  const auto found = std::find(kWeightBits.begin(), kWeightBits.end(), bits);
  if (found == kWeightBits.end() || found + 1 == kWeightBits.end()) return std::nullopt;
  return *(found + 1);
}

std::int64_t weight_bits_of(const std::vector<LayerSensitivity>& layers,
                            const BitAssignment& bits) {
  std::int64_t sum = 0;
  for (const LayerSensitivity& layer : layers) sum += layer.weights * bits.at(layer.layer);
  return sum;
}

// From 8 bits everywhere to the fewest, a layer at a time.
std::vector<BitAssignment> path_down(const std::vector<LayerSensitivity>& layers) {
  BitAssignment bits;
  for (const LayerSensitivity& layer : layers) bits[layer.layer] = kWeightBits.front();
  std::vector<BitAssignment> path = {bits};
  while (true) {
    const LayerSensitivity* best = nullptr;
    double least = 0;
    for (const LayerSensitivity& layer : layers) {
      const int now = bits[layer.layer];
      const auto below = bits_below(now);
      if (!below) continue;
      const double saved = static_cast<double>(layer.weights) * (now - *below);
      const double price = (layer.at.at(*below) - layer.at.at(now)) / saved;
      if (best == nullptr || price < least) {
        best = &layer;
        least = price;
      }
    }
    if (best == nullptr) return path;
    bits[best->layer] = *bits_below(bits[best->layer]);
    path.push_back(bits);
  }
}

class Search {
 public:
  Search(const std::vector<LayerSensitivity>& layers, double least_accuracy,
         const std::function<double(const BitAssignment&)>& evaluate,
         const std::function<void(const MixedPrecisionStep&)>& on_step)
      : layers_(layers), least_(least_accuracy), evaluate_(evaluate), on_step_(on_step) {}

  MixedPrecision run() {
    const std::vector<BitAssignment> path = path_down(layers_);
    if (!is_enough(path.front())) {
      take(best_.steps.back());
      return best_;
    }
    std::size_t enough = 0;
    std::size_t too_few = path.size();
    while (too_few - enough > 1) {
      const std::size_t middle = (enough + too_few) / 2;
      (is_enough(path[middle]) ? enough : too_few) = middle;
    }
    while (lower_one()) {
    }
    return best_;
  }

 private:
  // Evaluates, and keeps the cheapest that is enough.
  bool is_enough(const BitAssignment& bits) {
    MixedPrecisionStep step{bits, weight_bits_of(layers_, bits), evaluate_(bits), false};
    step.is_enough = step.accuracy >= least_;
    best_.steps.push_back(step);
    if (on_step_) on_step_(step);
    if (step.is_enough && (!best_.is_enough || step.weight_bits < best_.weight_bits)) take(step);
    return step.is_enough;
  }

  void take(const MixedPrecisionStep& step) {
    best_.bits = step.bits;
    best_.weight_bits = step.weight_bits;
    best_.accuracy = step.accuracy;
    best_.is_enough = step.is_enough;
  }

  // Whether one layer could go down, of those that have not failed to.
  bool lower_one() {
    std::vector<BitAssignment> trials;
    for (const LayerSensitivity& layer : layers_) {
      const auto below = bits_below(best_.bits[layer.layer]);
      if (!below || failed_.contains(layer.layer)) continue;
      trials.push_back(best_.bits);
      trials.back()[layer.layer] = *below;
    }
    std::stable_sort(trials.begin(), trials.end(), [&](const auto& a, const auto& b) {
      return weight_bits_of(layers_, a) < weight_bits_of(layers_, b);
    });
    for (const BitAssignment& trial : trials) {
      if (is_enough(trial)) return true;
      const auto changed = std::mismatch(trial.begin(), trial.end(), best_.bits.begin()).first;
      failed_.emplace(changed->first, changed->second);
    }
    return false;
  }

  const std::vector<LayerSensitivity>& layers_;
  double least_;
  const std::function<double(const BitAssignment&)>& evaluate_;
  const std::function<void(const MixedPrecisionStep&)>& on_step_;
  MixedPrecision best_;
  BitAssignment failed_;
};

}  // namespace

MixedPrecision cheapest_assignment(const std::vector<LayerSensitivity>& sensitivities,
                                   double least_accuracy,
                                   const std::function<double(const BitAssignment&)>& evaluate,
                                   const std::function<void(const MixedPrecisionStep&)>& on_step) {
  return Search(sensitivities, least_accuracy, evaluate, on_step).run();
}

}  // namespace qsim::quantize
