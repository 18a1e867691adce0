// The rules as loops that the compiler makes vectors of, divided among threads.
#include "golden/real/real_rules.h"

#include <array>
#include <cmath>
#include <limits>

#include "golden/common/float_environment.h"
#include "golden/real/real_arithmetic.h"
#include "golden/real/real_layer.h"
#include "golden/real/reference_rules.h"
#include "golden/real/rule_arithmetic.h"

namespace qsim::golden {
namespace {

using Values = std::span<float>;

FiniteRange finite_range(std::span<const float> values) {
  // One range a lane: a compiler keeps the order of floats, so one range would be one chain.
  constexpr std::size_t kLanes = 16;
  constexpr float kMost = std::numeric_limits<float>::max();
  std::array<float, kLanes> lo{};
  std::array<float, kLanes> hi{};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float value = std::fabs(values[i + j]) <= kMost ? values[i + j] : 0.0F;
      lo[j] = value < lo[j] ? value : lo[j];
      hi[j] = value > hi[j] ? value : hi[j];
    }
  }
  FiniteRange range;
  for (std::size_t j = 0; j < kLanes; ++j) range = widened(range, {lo[j], hi[j]});
  for (std::size_t i = whole; i < values.size(); ++i) {
    if (std::isfinite(values[i])) range = widened(range, {values[i], values[i]});
  }
  return range;
}

void rule_values(const UniformRule& rule, Values values) {
  // A number within 2^22 plus this one is rounded to an integer, half to even.
  constexpr float kRounder = 0x1.8p23F;
  const auto lo = static_cast<float>(rule.lo - rule.zero_point);
  const auto hi = static_cast<float>(rule.hi - rule.zero_point);
  const float scale = rule.scale;
  for (float& value : values) {
    const float quotient = value / scale;
    const float number = quotient == quotient ? quotient : 0.0F;
    const float above = number < lo ? lo : number;
    const float level = above > hi ? hi : above;
    value = ((level + kRounder) - kRounder) * scale;
  }
}

void rule_values(const FloatRule& rule, Values values) {
  visit_format(rule.format, [&]<FloatFormat format>() {
    for (float& value : values) value = canonical(nearest<format>(value / rule.scale) * rule.scale);
  });
}

void rule_values(const Log2Rule& rule, Values values) {
  for (float& value : values) value = ruled(rule, value);
}

void apply_dynamic(const DynamicRule& rule, Values values, std::int64_t pictures,
                   ThreadTeam& team) {
  const std::size_t elems = values.size() / size(pictures);
  std::vector<FiniteRange> ranges(size(pictures));
  const auto for_pictures = [&](const std::function<void(std::size_t, Values)>& work) {
    divide(team, pictures, static_cast<std::int64_t>(elems),
           [&](std::int64_t first, std::int64_t last) {
             for (std::size_t n = size(first); n < size(last); ++n) {
               work(n, values.subspan(n * elems, elems));
             }
           });
  };
  for_pictures([&](std::size_t n, Values picture) { ranges[n] = finite_range(picture); });
  if (!rule.per_picture) {
    FiniteRange all;
    for (const FiniteRange& range : ranges) all = widened(all, range);
    ranges.assign(ranges.size(), all);
  }
  for_pictures(
      [&](std::size_t n, Values picture) { rule_values(uniform_rule(rule, ranges[n]), picture); });
}

}  // namespace

void apply(const TensorRule& rule, Tensor& tensor, ThreadTeam& team) {
  check_rule(rule);
  const FloatEnvironment environment;
  const Values values = tensor.as<float>();
  const auto divided = [&](const auto& one) {
    divide(team, std::ssize(values), 1, [&](std::int64_t first, std::int64_t last) {
      rule_values(one, values.subspan(size(first), size(last - first)));
    });
  };
  std::visit(
      [&](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, DynamicRule>) {
          apply_dynamic(one, values, tensor.shape[0], team);
        } else {
          divided(one);
        }
      },
      rule);
}

void apply(const TensorRule& rule, Tensor& tensor) {
  ThreadTeam team(1);
  apply(rule, tensor, team);
}

UniformRule uniform_rule(const DynamicRule& rule, std::span<const float> values) {
  check_rule(rule);
  const FloatEnvironment environment;
  return uniform_rule(rule, finite_range(values));
}

}  // namespace qsim::golden
