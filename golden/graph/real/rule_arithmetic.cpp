#include "golden/graph/real/rule_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace qsim::golden {
namespace {

void check_scale(float scale) {
  if (std::isfinite(scale) && scale > 0) return;
  throw_bad_input("a rule's scale is " + std::to_string(scale) +
                  "; expected a finite number above 0");
}

void check_one(const UniformRule& rule) {
  check_scale(rule.scale);
  const auto zero = std::int64_t{rule.zero_point};
  if (rule.lo <= rule.hi && rule.lo - zero >= -kMostLevel && rule.hi - zero <= kMostLevel) return;
  throw_bad_input("a rule's levels are " + std::to_string(rule.lo) + ".." +
                  std::to_string(rule.hi) + " around zero_point " +
                  std::to_string(rule.zero_point) + "; expected lo at most hi, at most " +
                  std::to_string(kMostLevel) + " from the zero_point");
}

void check_one(const DynamicRule& rule) {
  const int least = rule.symmetric ? 2 : 1;
  if (rule.bits >= least && rule.bits <= 8) return;
  throw_bad_input("a dynamic rule has " + std::to_string(rule.bits) + " bits; expected " +
                  std::to_string(least) + " to 8");
}

void check_one(const FloatRule& rule) { check_scale(rule.scale); }

void check_one(const Log2Rule& rule) {
  check_scale(rule.scale);
  if (rule.lo >= -126 && rule.lo <= rule.hi && rule.hi <= 127) return;
  throw_bad_input("a log2 rule's exponents are " + std::to_string(rule.lo) + ".." +
                  std::to_string(rule.hi) + "; expected lo at most hi, both in -126..127");
}

}  // namespace

void check_rule(const TensorRule& rule) {
  std::visit([](const auto& one) { check_one(one); }, rule);
}

FiniteRange widened(const FiniteRange& a, const FiniteRange& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

UniformRule uniform_rule(const DynamicRule& rule, const FiniteRange& range) {
  const auto positive = [](float scale) { return scale > 0 ? scale : 1.0F; };
  if (rule.symmetric) {
    const std::int32_t hi = (1 << (rule.bits - 1)) - 1;
    const float most = std::max(-range.lo, range.hi);
    return {positive(most / static_cast<float>(hi)), 0, -hi, hi};
  }
  const std::int32_t hi = (1 << rule.bits) - 1;
  const float extent = std::min(range.hi - range.lo, std::numeric_limits<float>::max());
  const float scale = positive(extent / static_cast<float>(hi));
  const float zero = std::clamp(-range.lo / scale, 0.0F, static_cast<float>(hi));
  return {scale, static_cast<std::int32_t>(std::nearbyint(zero)), 0, hi};
}

}  // namespace qsim::golden
