#include "report/results/pareto_front.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace qsim::report {
namespace {

// Maps a second cost to the least third cost of the points before with at most that second cost.
// Third costs fall as second ones rise.
using Staircase = std::map<double, double>;

bool is_beaten(const Staircase& stairs, const PointCosts& point) {
  const auto above = stairs.upper_bound(point[1]);
  return above != stairs.begin() && std::prev(above)->second <= point[2];
}

void add(Staircase& stairs, const PointCosts& point) {
  auto step = stairs.insert_or_assign(point[1], point[2]).first;
  for (++step; step != stairs.end() && step->second >= point[2];) step = stairs.erase(step);
}

}  // namespace

std::vector<bool> pareto_front(std::span<const PointCosts> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> is_on_front(points.size());
  Staircase stairs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PointCosts& point = points[order[i]];
    const bool equals_last = i > 0 && points[order[i - 1]] == point;
    is_on_front[order[i]] =
        equals_last ? bool{is_on_front[order[i - 1]]} : !is_beaten(stairs, point);
    if (!equals_last && is_on_front[order[i]]) add(stairs, point);
  }
  return is_on_front;
}

}  // namespace qsim::report
