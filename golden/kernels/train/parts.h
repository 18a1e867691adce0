// How a call's work is divided among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "golden/common/thread_team.h"

namespace qsim::golden::train {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// work(begin, end) for ranges of 0..items - 1 that begin at multiples of `unit`. The ranges depend
// on the number of threads: for work whose items do not depend on each other.
template <typename Work>
void for_ranges(ThreadTeam& team, std::int64_t items, std::int64_t unit, const Work& work) {
  constexpr std::int64_t kPartsOfThread = 4;  // they take unequal times
  const std::int64_t units = ceil_div(items, unit);
  const std::int64_t parts = team.threads() == 1
                                 ? std::min<std::int64_t>(units, 1)
                                 : std::min<std::int64_t>(units, kPartsOfThread * team.threads());
  team.run(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto index = static_cast<std::int64_t>(part);
    work(units * index / parts * unit, std::min(items, units * (index + 1) / parts * unit));
  });
}

// work(i) for each of 0..items - 1, in any order.
template <typename Work>
void for_each_item(ThreadTeam& team, std::int64_t items, const Work& work) {
  team.run(static_cast<std::size_t>(items),
           [&](std::size_t item) { work(static_cast<std::int64_t>(item)); });
}

}  // namespace qsim::golden::train
