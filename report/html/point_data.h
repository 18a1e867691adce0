// The points of a profile as the report's page draws them: a line of a table each, and a mark of
// the Pareto chart.
#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "report/html/page_data.h"

namespace qsim {

// What the page says of the whole profile: its measure, energies, winners and Pareto front.
nlohmann::ordered_json profile_data(const Profile& profile);

// The points that ran, in their order, as objects of at most about `most_bytes` together, and how
// many have no room. `runs` are those of the page; a point names its own.
struct PointData {
  nlohmann::ordered_json points;
  std::size_t left_out = 0;
};
PointData point_data(const Profile& profile, std::span<const PageRun> runs, std::size_t most_bytes);

}  // namespace qsim
