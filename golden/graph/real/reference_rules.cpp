#include "golden/graph/real/reference_rules.h"

#include <algorithm>
#include <cmath>

#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/rule_arithmetic.h"

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

}  // namespace

std::int64_t level_of(const UniformRule& rule, float x) {
  const float quotient = x / rule.scale;
  if (std::isnan(quotient)) return rule.zero_point;
  // Beyond these bounds every level is lo or hi.
  const float level = std::clamp(std::nearbyint(quotient), -2.0F * kMostLevel, 2.0F * kMostLevel);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(level) + rule.zero_point, rule.lo,
                                  rule.hi);
}

float ruled(const UniformRule& rule, float x) {
  return static_cast<float>(level_of(rule, x) - rule.zero_point) * rule.scale;
}

float ruled(const FloatRule& rule, float x) {
  const float quotient = x / rule.scale;
  return canonical_nan(
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

std::vector<UniformRule> reference_uniform_rules(const std::variant<UniformRule, DynamicRule>& rule,
                                                 const Tensor& tensor) {
  const std::size_t pictures = size(tensor.shape[0]);
  if (const auto* uniform = std::get_if<UniformRule>(&rule)) return {pictures, *uniform};
  const DynamicRule& dynamic = std::get<DynamicRule>(rule);
  const std::span<const float> values = tensor.as<float>();
  std::vector<UniformRule> rules;
  const std::size_t elems = values.size() / pictures;
  for (std::size_t n = 0; n < pictures; ++n) {
    rules.push_back(uniform_rule(
        dynamic, plain_range(dynamic.per_picture ? values.subspan(n * elems, elems) : values)));
  }
  return rules;
}

void reference_rule(const TensorRule& rule, Tensor& tensor) {
  check_rule(rule);
  const std::span<float> values = tensor.as<float>();
  if (const auto* log2 = std::get_if<Log2Rule>(&rule)) return rule_values(*log2, values);
  if (const auto* format = std::get_if<FloatRule>(&rule)) return rule_values(*format, values);
  const auto* uniform = std::get_if<UniformRule>(&rule);
  if (uniform != nullptr) return rule_values(*uniform, values);
  const std::vector<UniformRule> rules =
      reference_uniform_rules(std::get<DynamicRule>(rule), tensor);
  const std::size_t elems = values.size() / rules.size();
  for (std::size_t n = 0; n < rules.size(); ++n) {
    rule_values(rules[n], values.subspan(n * elems, elems));
  }
}

}  // namespace qsim::golden
