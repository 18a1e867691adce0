// Operands of products.h: [groups][panels of a group][steps][lanes], lanes past a group's channels
// being 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/products.h"

namespace qsim::golden::train {

template <typename Number>
struct Panels {
  std::int64_t groups;
  std::int64_t channels;  // of a group
  std::int64_t lanes;
  std::int64_t count;  // panels of a group
  std::int64_t steps;
  std::vector<Number> numbers;

  Panels(std::int64_t group_count, std::int64_t channels_of_group, std::int64_t step_count)
      : groups(group_count),
        channels(channels_of_group),
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
  // number(group, step, channel of the group) for each lane that exists.
  template <typename Make>
  void fill(ThreadTeam& team, const Make& number) {
    const std::int64_t panels = groups * count;
    for_ranges(team, panels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) fill_panel(i / count, i % count, number);
    });
  }

 private:
  template <typename Make>
  void fill_panel(std::int64_t group, std::int64_t index, const Make& number) {
    Number* to = panel(group, index);
    for (std::int64_t step = 0; step < steps; ++step, to += lanes) {
      for (std::int64_t lane = 0; lane < channels_of(index); ++lane) {
        to[lane] = number(group, step, index * lanes + lane);
      }
    }
  }
};

}  // namespace qsim::golden::train
