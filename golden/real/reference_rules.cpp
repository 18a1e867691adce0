#include "golden/real/reference_rules.h"

#include <algorithm>
#include <cmath>

#include "golden/real/real_arithmetic.h"
#include "golden/real/rule_arithmetic.h"

namespace qsim::golden {
namespace {

// The finite range of some values.
FiniteRange plain_range(std::span<const float> values) {
  FiniteRange range;
  for (const float value : values) {
    if (std::isfinite(value)) range = widened(range, {value, value});
  }
  return range;
}

template <typename Rule>
void rule_values(const Rule& rule, std::span<float> values) {
  for (float& value : values) value = ruled(rule, value);
}

void rule_values(const DynamicRule& rule, std::span<float> values) {
  rule_values(uniform_rule(rule, plain_range(values)), values);
}

}  // namespace

float ruled(const UniformRule& rule, float x) {
  const float quotient = x / rule.scale;
  if (std::isnan(quotient)) return 0.0F;
  // Beyond these bounds every level is lo or hi.
  const float level = std::clamp(std::nearbyint(quotient), -2.0F * kMostLevel, 2.0F * kMostLevel);
  const std::int64_t q = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(level) + rule.zero_point, rule.lo, rule.hi);
  return static_cast<float>(q - rule.zero_point) * rule.scale;
}

float ruled(const FloatRule& rule, float x) {
  const float quotient = x / rule.scale;
  return canonical(
      visit_format(rule.format, [&]<FloatFormat format>() { return nearest<format>(quotient); }) *
      rule.scale);
}

float ruled(const Log2Rule& rule, float x) {
  const float quotient = std::fabs(x) / rule.scale;
  if (std::isnan(quotient) || quotient == 0.0F) return 0.0F;
  const int e = std::isinf(quotient) ? rule.hi : std::min(nearest_log2(quotient), rule.hi);
  if (e < rule.lo) return 0.0F;
  return std::copysign(std::ldexp(rule.scale, e), x);
}

void reference_rule(const TensorRule& rule, Tensor& tensor) {
  check_rule(rule);
  const std::span<float> values = tensor.as<float>();
  const auto* dynamic = std::get_if<DynamicRule>(&rule);
  if (dynamic == nullptr || !dynamic->per_picture) {
    std::visit([&](const auto& one) { rule_values(one, values); }, rule);
    return;
  }
  const std::size_t elems = values.size() / size(tensor.shape[0]);
  for (std::size_t first = 0; first < values.size(); first += elems) {
    rule_values(*dynamic, values.subspan(first, elems));
  }
}

}  // namespace qsim::golden
