// The Pareto front: the points that no other beats.
#pragma once

#include <array>
#include <span>
#include <vector>

namespace qsim::report {

// What a point costs; less is better in each number.
using PointCosts = std::array<double, 3>;

// For each point, whether it is on the front: no other point is at most as large in every cost and
// smaller in one. Equal points are on it together. In O(n log n): the points in ascending order of
// their costs, and the least third cost so far for each second one.
std::vector<bool> pareto_front(std::span<const PointCosts> points);

}  // namespace qsim::report
