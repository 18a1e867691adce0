// Mixed precision: the fewest bits for the weights of each layer with which the accuracy stays
// above a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "quantize/sensitivity.h"

namespace qsim::quantize {

using BitAssignment = std::map<std::size_t, int>;  // by layer of the Graph

// One trial of the search.
struct MixedPrecisionStep {
  BitAssignment bits;
  std::int64_t weight_bits = 0;  // sum over the layers of weights * bits
  double accuracy = 0;           // what `evaluate` gave
  bool is_enough = false;
};

struct MixedPrecision {
  BitAssignment bits;
  std::int64_t weight_bits = 0;
  double accuracy = 0;
  bool is_enough = false;  // false: not even 8 bits everywhere are
  std::vector<MixedPrecisionStep> steps;
};

// From 8 bits in all layers downwards, each time the layer whose sensitivity grows least for each
// bit that is saved: of these assignments, the cheapest that is enough, found by halving, each
// trial evaluated. Then each layer by itself goes one further down where that is still enough,
// until none does, the largest savings first. What is returned has been evaluated. `evaluate` gives
// an accuracy (larger is better); `on_step`, unless empty, is told of each trial. Both may throw.
MixedPrecision cheapest_assignment(
    const std::vector<LayerSensitivity>& sensitivities, double least_accuracy,
    const std::function<double(const BitAssignment&)>& evaluate,
    const std::function<void(const MixedPrecisionStep&)>& on_step = {});

}  // namespace qsim::quantize
