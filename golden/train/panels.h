// Operands of products.h: [groups][panels of a group][steps][lanes], lanes past a group's channels
// being 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "golden/train/parts.h"
#include "golden/train/products.h"

namespace qsim::golden::train {

template <typename Number>
struct Panels {
  std::int64_t channels;  // of a group
  std::int64_t lanes;
  std::int64_t count;  // panels of a group
  std::int64_t steps;
  std::vector<Number> numbers;

  Panels(std::int64_t groups, std::int64_t channels_of_group, std::int64_t step_count)
      : channels(channels_of_group),
        lanes(panel_lanes(channels)),
        count(ceil_div(channels, lanes)),
        steps(step_count),
        numbers(static_cast<std::size_t>(groups * count * steps * lanes)) {}

  Number* panel(std::int64_t group, std::int64_t index) {
    return numbers.data() + (group * count + index) * steps * lanes;
  }
  const Number* panel(std::int64_t group, std::int64_t index) const {
    return numbers.data() + (group * count + index) * steps * lanes;
  }
  // Channels of a panel that exist.
  std::int64_t channels_of(std::int64_t index) const {
    return std::min(lanes, channels - index * lanes);
  }
  // number(step, channel of the group) for each lane that exists.
  template <typename Make>
  void fill(std::int64_t group, const Make& number) {
    for (std::int64_t index = 0; index < count; ++index) {
      Number* to = panel(group, index);
      for (std::int64_t step = 0; step < steps; ++step, to += lanes) {
        for (std::int64_t lane = 0; lane < channels_of(index); ++lane) {
          to[lane] = number(step, index * lanes + lane);
        }
      }
    }
  }
};

}  // namespace qsim::golden::train
