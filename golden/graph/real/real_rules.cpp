// The rules as loops that the compiler makes vectors of, divided among threads.
#include "golden/graph/real/real_rules.h"

#include <array>
#include <cmath>
#include <limits>

#include "golden/common/float_environment.h"
#include "golden/graph/real/integer_layer.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"
#include "golden/graph/real/reference_rules.h"
#include "golden/graph/real/rule_arithmetic.h"

namespace qsim::golden {
namespace {

using Values = std::span<float>;

FiniteRange finite_range(std::span<const float> values) {
  // One range a lane: a compiler keeps the order of floats, so one range would be one chain.
  constexpr std::size_t kRangeLanes = 16;
  constexpr float kMost = std::numeric_limits<float>::max();
  std::array<float, kRangeLanes> lo{};
  std::array<float, kRangeLanes> hi{};
  const std::size_t whole = values.size() / kRangeLanes * kRangeLanes;
  for (std::size_t i = 0; i < whole; i += kRangeLanes) {
    for (std::size_t j = 0; j < kRangeLanes; ++j) {
      const float value = std::fabs(values[i + j]) <= kMost ? values[i + j] : 0.0F;
      lo[j] = value < lo[j] ? value : lo[j];
      hi[j] = value > hi[j] ? value : hi[j];
    }
  }
  FiniteRange range;
  for (std::size_t j = 0; j < kRangeLanes; ++j) range = widened(range, {lo[j], hi[j]});
  for (std::size_t i = whole; i < values.size(); ++i) {
    if (std::isfinite(values[i])) range = widened(range, {values[i], values[i]});
  }
  return range;
}

// levels[i] = q - zero_point of values[i], which may be levels[i] itself; times `factor`.
void level_values(const UniformRule& rule, const float* values, std::size_t count, float factor,
                  float* levels) {
  // A number within 2^22 plus this one is rounded to an integer, half to even.
  constexpr float kRounder = 0x1.8p23F;
  const auto lo = static_cast<float>(rule.lo - rule.zero_point);
  const auto hi = static_cast<float>(rule.hi - rule.zero_point);
  const float scale = rule.scale;
  for (std::size_t i = 0; i < count; ++i) {
    const float quotient = values[i] / scale;
    const float number = quotient == quotient ? quotient : 0.0F;
    const float above = number < lo ? lo : number;
    const float level = above > hi ? hi : above;
    levels[i] = ((level + kRounder) - kRounder) * factor;
  }
}

void rule_values(const UniformRule& rule, Values values) {
  level_values(rule, values.data(), values.size(), rule.scale, values.data());
}

// nearest<format>() of a number that is not NaN, as operations that the compiler makes vectors of.
template <FloatFormat format>
float nearest_number(float x) {
  constexpr int kDropped = 23 - format.mantissa_bits;
  constexpr float kLargest = float_of(decode<format>(format.largest));
  const std::uint32_t sign = bits_of(x) & ~kFp32Magnitude;
  const float magnitude = std::fabs(x) > kLargest ? kLargest : std::fabs(x);
  const std::uint32_t bits = bits_of(magnitude);
  if constexpr (format.exponent_bits == 8) {
    // The exponents are float32's: rounding is a carry of the bits, subnormal numbers included.
    const std::uint32_t half = (1U << (kDropped - 1)) - 1 + (bits >> kDropped & 1);
    return float_of(sign | ((bits + half) >> kDropped << kDropped));
  }
  // The sum with 2^kDropped times the number's power of two, or the format's smallest normal one,
  // rounds to the format's step.
  constexpr int kBias = (1 << (format.exponent_bits - 1)) - 1;
  constexpr auto kLeast = static_cast<std::int32_t>(128 - kBias) << 23;
  const auto exponent = static_cast<std::int32_t>(bits & kFp32Infinity);
  const std::int32_t limited = exponent > kLeast ? exponent : kLeast;
  const float step = float_of(static_cast<std::uint32_t>(limited + (kDropped << 23)));
  return float_of(sign | bits_of((magnitude + step) - step));
}

// A struct: cppcheck reads no lambda with template parameters here.
struct Rounding {
  float scale;
  Values values;

  template <FloatFormat format>
  void operator()() const {
    for (float& value : values) {
      const float quotient = value / scale;
      value =
          canonical_nan(quotient == quotient ? nearest_number<format>(quotient) * scale : quotient);
    }
  }
};

void rule_values(const FloatRule& rule, Values values) {
  visit_format(rule.format, Rounding{rule.scale, values});
}

void rule_values(const Log2Rule& rule, Values values) {
  for (float& value : values) value = ruled(rule, value);
}

// Calls work(n, first element) for each picture.
void for_pictures(ThreadTeam& team, std::int64_t pictures, std::size_t elems,
                  const std::function<void(std::size_t n, std::size_t first)>& work) {
  divide(team, pictures, static_cast<std::int64_t>(elems),
         [&](std::int64_t first, std::int64_t last) {
           for (std::size_t n = size(first); n < size(last); ++n) work(n, n * elems);
         });
}

std::vector<UniformRule> uniform_rules(const DynamicRule& rule, const Tensor& tensor,
                                       ThreadTeam& team) {
  const std::span<const float> values = tensor.as<float>();
  const std::int64_t pictures = tensor.shape[0];
  const std::size_t elems = values.size() / size(pictures);
  std::vector<FiniteRange> ranges(size(pictures));
  for_pictures(team, pictures, elems, [&](std::size_t n, std::size_t first) {
    ranges[n] = finite_range(values.subspan(first, elems));
  });
  if (!rule.per_picture) {
    FiniteRange all;
    for (const FiniteRange& range : ranges) all = widened(all, range);
    ranges.assign(ranges.size(), all);
  }
  std::vector<UniformRule> rules;
  for (const FiniteRange& range : ranges) rules.push_back(uniform_rule(rule, range));
  return rules;
}

void apply_dynamic(const DynamicRule& rule, Tensor& tensor, ThreadTeam& team) {
  const std::vector<UniformRule> rules = uniform_rules(rule, tensor, team);
  const Values values = tensor.as<float>();
  const std::size_t elems = values.size() / rules.size();
  for_pictures(team, tensor.shape[0], elems, [&](std::size_t n, std::size_t first) {
    rule_values(rules[n], values.subspan(first, elems));
  });
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
          apply_dynamic(one, tensor, team);
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

QuantizedInput quantize_input(const InputRule& rule, const Tensor& input, ThreadTeam& team) {
  const auto* dynamic = std::get_if<DynamicRule>(&rule);
  const std::vector<UniformRule> rules =
      dynamic != nullptr
          ? uniform_rules(*dynamic, input, team)
          : std::vector<UniformRule>(size(input.shape[0]), std::get<UniformRule>(rule));
  QuantizedInput result{Tensor(DType::kFloat32, input.shape), {}};
  for (const UniformRule& of_picture : rules) result.scales.push_back(of_picture.scale);
  const float* values = input.as<float>().data();
  float* levels = result.levels.as<float>().data();
  const std::size_t elems = input.as<float>().size() / rules.size();
  for_pictures(team, input.shape[0], elems, [&](std::size_t n, std::size_t first) {
    level_values(rules[n], values + first, elems, 1.0F, levels + first);
  });
  return result;
}

UniformRule uniform_rule(const DynamicRule& rule, std::span<const float> values) {
  check_rule(rule);
  const FloatEnvironment environment;
  return uniform_rule(rule, finite_range(values));
}

}  // namespace qsim::golden
