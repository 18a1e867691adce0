// The rules of fake quantization: against definitions of the tests' own, exhaustively where the
// numbers are few, and the fast loops against the plain ones.
#include "golden/graph/real/real_rules.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/graph/real/reference_rules.h"

namespace qsim::golden {
namespace {

using Format = FloatRule::Format;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor row(std::vector<float> values) {
  return make_tensor<float>({1, 1, 1, std::ssize(values)}, values);
}

std::vector<float> applied(const TensorRule& rule, std::vector<float> values) {
  Tensor tensor = row(std::move(values));
  apply(rule, tensor);
  const auto results = tensor.as<float>();
  return {results.begin(), results.end()};
}

float applied(const TensorRule& rule, float value) { return applied(rule, std::vector{value})[0]; }

// Each pattern of 16 bits as the upper half of a float32, and its neighbours: every exponent, both
// signs, subnormal numbers, infinities and NaNs.
std::vector<float> every_bfloat16_and_neighbours() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0u, 0x1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return values;
}

struct Bits {
  int exponent;
  int mantissa;
  double largest;
};

Bits bits_of_format(Format format) {
  switch (format) {
    case Format::kE4m3:
      return {4, 3, 448};
    case Format::kE5m2:
      return {5, 2, 57344};
    case Format::kBfloat16:
      return {8, 7, 0x1.FEp127};
    case Format::kFloat16:
      return {5, 10, 65504};
    case Format::kTensorFloat32:
      break;
  }
  return {8, 10, 0x1.FFCp127};
}

constexpr Format kFormats[] = {Format::kE4m3, Format::kE5m2, Format::kBfloat16, Format::kFloat16,
                               Format::kTensorFloat32};

// The finite numbers of a format that are not negative, ascending; the index is the code.
std::vector<double> numbers_of(Format format) {
  const Bits bits = bits_of_format(format);
  const int bias = (1 << (bits.exponent - 1)) - 1;
  std::vector<double> numbers;
  for (int code = 0;; ++code) {
    const int field = code >> bits.mantissa;
    const int fraction = code & ((1 << bits.mantissa) - 1);
    const int leading = field > 0 ? 1 << bits.mantissa : 0;
    const double number = std::ldexp(leading + fraction, std::max(field, 1) - bias - bits.mantissa);
    if (number > bits.largest) return numbers;
    numbers.push_back(number);
  }
}

TEST(RealRules, EveryNumberOfAFloatFormatStaysAndItsMidpointsGoToTheEvenCode) {
  for (const Format format : kFormats) {
    const std::vector<double> numbers = numbers_of(format);
    std::vector<float> inputs;
    std::vector<float> expected;
    const auto expect = [&](double input, double output) {
      inputs.insert(inputs.end(), {static_cast<float>(input), static_cast<float>(-input)});
      expected.insert(expected.end(), {static_cast<float>(output), static_cast<float>(-output)});
    };
    for (std::size_t code = 0; code < numbers.size(); ++code) {
      expect(numbers[code], numbers[code]);
      if (code + 1 == numbers.size()) break;
      const double middle = (numbers[code] + numbers[code + 1]) / 2;
      ASSERT_EQ(static_cast<float>(middle), middle);
      expect(middle, numbers[code + code % 2]);
      expect(std::nextafter(static_cast<float>(middle), 0.0F), numbers[code]);
      expect(std::nextafter(static_cast<float>(middle), kInfinity), numbers[code + 1]);
    }
    const std::vector<float> results = applied(FloatRule{format, 1}, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(results[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << static_cast<int>(format) << ": " << inputs[i] << " gave " << results[i];
    }
  }
}

TEST(RealRules, FloatFormatsHaveAsManyNumbersAsTheirStandardsSay) {
  EXPECT_EQ(numbers_of(Format::kE4m3).size(), 127u);  // OCP OFP8: 0x7F alone is no number
  EXPECT_EQ(numbers_of(Format::kE5m2).size(), 124u);  // 0x7C is infinity
  EXPECT_EQ(numbers_of(Format::kFloat16).size(), 0x7C00u);
  EXPECT_EQ(numbers_of(Format::kBfloat16).size(), 0x7F80u);
  EXPECT_EQ(numbers_of(Format::kTensorFloat32).size(), 255u << 10);
}

TEST(RealRules, FloatFormatsSaturateAndKeepNan) {
  for (const Format format : kFormats) {
    const auto largest = static_cast<float>(bits_of_format(format).largest);
    const FloatRule rule{format, 1};
    EXPECT_EQ(applied(rule, kInfinity), largest);
    EXPECT_EQ(applied(rule, -kInfinity), -largest);
    EXPECT_EQ(applied(rule, std::numeric_limits<float>::max()), largest);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(applied(rule, -kNan)), 0x7FC00000u);
  }
}

TEST(RealRules, AScaleIsDividedByAndMultipliedAgain) {
  EXPECT_EQ(applied(FloatRule{Format::kE4m3, 0.25F}, 1000.0F), 112.0F);  // 448 / 4
  EXPECT_EQ(applied(FloatRule{Format::kE4m3, 4}, 1000.0F), 1024.0F);     // 250 to 256
  EXPECT_EQ(applied(Log2Rule{3, -4, 4}, 7.0F), 6.0F);
}

TEST(RealRules, FastLoopsEqualThePlainOnesForEveryBfloat16AndItsNeighbours) {
  const std::vector<float> values = every_bfloat16_and_neighbours();
  std::vector<TensorRule> rules = {UniformRule{0.037F, -7, -128, 127},
                                   UniformRule{1.5F, 255, 0, 255},
                                   UniformRule{1e-40F, 0, -32768, 32767},
                                   UniformRule{3e38F, 0, -1, 0},
                                   UniformRule{0.5F, 0, -kMostLevel, kMostLevel},
                                   DynamicRule{8, false, true},
                                   DynamicRule{4, true, false},
                                   Log2Rule{1, -7, 0},
                                   Log2Rule{0.3F, -126, 127},
                                   Log2Rule{1e-39F, -20, 20}};
  for (const Format format : kFormats) rules.emplace_back(FloatRule{format, 0.7F});
  for (const TensorRule& rule : rules) {
    Tensor fast = row(values);
    Tensor plain = fast;
    ThreadTeam team(3);
    apply(rule, fast, team);
    reference_rule(rule, plain);
    ASSERT_EQ(fast, plain) << "rule " << rule.index();
  }
}

TEST(RealRules, UniformRoundsTiesToEvenAndSaturates) {
  const UniformRule rule{0.5F, 3, -8, 7};  // of 0.5 steps from -5.5 to 2
  EXPECT_EQ(applied(rule, {0.25F, 0.75F, -0.25F, -0.75F, 100, -100, kInfinity, -kInfinity, 0.3F}),
            (std::vector<float>{0, 1, 0, -1, 2, -5.5F, 2, -5.5F, 0.5F}));
}

TEST(RealRules, UniformIsAnIntegerTimesTheScale) {
  Random random(9);
  for (int i = 0; i < 20000; ++i) {
    // A power of two divides exactly, so double precision has the same quotient.
    const int exponent = static_cast<int>(random.uniform(-20, 20));
    const auto zero = static_cast<std::int32_t>(random.uniform(-128, 127));
    const UniformRule rule{std::ldexp(1.0F, exponent), zero, -128, 127};
    const float x = std::ldexp(static_cast<float>(random.uniform(-4000, 4000)),
                               exponent - static_cast<int>(random.uniform(1, 6)));
    const double level = std::nearbyint(std::ldexp(double{x}, -exponent)) + zero;
    const double clamped = std::min(127.0, std::max(-128.0, level));
    ASSERT_EQ(applied(rule, x), std::ldexp(clamped - zero, exponent)) << x;
  }
}

TEST(RealRules, WhatIsNotANumberBecomesPlusZero) {
  for (const TensorRule& rule :
       {TensorRule(UniformRule{0.5F, 3, -8, 7}), TensorRule(Log2Rule{1, -7, 0})}) {
    for (const float x : {kNan, -kNan, -0.0F, -1e-30F}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(applied(rule, x)), 0u) << rule.index() << " " << x;
    }
  }
}

// The examples of the ONNX operator DynamicQuantizeLinear.
TEST(RealRules, ADynamicRuleIsOnnxDynamicQuantizeLinear) {
  const std::vector<float> both = {0, 2, -3, -2.5F, 1.34F, 0.5F};
  const UniformRule first = uniform_rule(DynamicRule{}, both);
  EXPECT_FLOAT_EQ(first.scale, 0.0196078438F);
  EXPECT_EQ(first.zero_point, 153);
  const std::vector<int> levels = {153, 255, 0, 26, 221, 179};
  const std::vector<float> results = applied(DynamicRule{}, both);
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_EQ(results[i], static_cast<float>(levels[i] - 153) * first.scale);
  }
  const std::vector<float> negative = {-1, -2.1F, -1.3F, -2.5F, -3.3F, -4};
  const UniformRule second = uniform_rule(DynamicRule{}, negative);
  EXPECT_FLOAT_EQ(second.scale, 0.0156862754F);
  EXPECT_EQ(second.zero_point, 255);
}

TEST(RealRules, ADynamicRangeIsThatOfFiniteNumbersAndZero) {
  const UniformRule rule =
      uniform_rule(DynamicRule{}, std::vector<float>{3, kInfinity, kNan, -kInfinity, 51});
  EXPECT_EQ(rule.scale, 0.2F);
  EXPECT_EQ(rule.zero_point, 0);
  EXPECT_EQ(applied(DynamicRule{}, {3, kInfinity, -kInfinity, 51}),
            (std::vector<float>{15 * 0.2F, 255 * 0.2F, 0, 255 * 0.2F}));
  const UniformRule symmetric = uniform_rule(DynamicRule{4, true, true}, std::vector<float>{-7, 2});
  EXPECT_EQ(symmetric.scale, 1.0F);
  EXPECT_EQ(symmetric.lo, -7);
  EXPECT_EQ(symmetric.hi, 7);
  EXPECT_EQ(applied(DynamicRule{}, {0, 0, 0}), (std::vector<float>{0, 0, 0}));
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(uniform_rule(DynamicRule{}, std::vector<float>{-most, most}).scale, most / 255);
}

TEST(RealRules, PicturesHaveRangesOfTheirOwnOrOneTogether) {
  const std::vector<float> values = {0, 255, 100.4F, 0, 510, 100.4F};
  Tensor own = make_tensor<float>({2, 1, 1, 3}, values);
  Tensor together = own;
  apply(DynamicRule{8, false, true}, own);
  apply(DynamicRule{8, false, false}, together);
  EXPECT_EQ(own, make_tensor<float>({2, 1, 1, 3}, std::vector<float>{0, 255, 100, 0, 510, 100}));
  EXPECT_EQ(together,
            make_tensor<float>({2, 1, 1, 3}, std::vector<float>{0, 256, 100, 0, 510, 100}));
}

TEST(RealRules, AnExponentIsTheNearestIntegerToTheLogarithm) {
  const Log2Rule rule{1, -126, 127};
  std::vector<float> values;
  for (int n = -126; n < 127; ++n) {
    for (const float m : {1.0F, 1.25F, 1.41421354F, 1.41421366F, 1.9999999F}) {
      values.push_back(std::ldexp(m, n));
    }
  }
  const std::vector<float> results = applied(rule, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double log = std::log2(double{values[i]});
    ASSERT_EQ(results[i], std::ldexp(1.0, static_cast<int>(std::nearbyint(log)))) << values[i];
    ASSERT_EQ(applied(rule, -values[i]), -results[i]);
  }
  // Subnormal numbers: the logarithms are -126.4 and -126.6, which goes below lo.
  EXPECT_EQ(applied(rule, 0x1.8p-127F), 0x1p-126F);
  EXPECT_EQ(applied(rule, 0x1.5p-127F), 0.0F);
}

TEST(RealRules, ExponentsEndAtTheRange) {
  const Log2Rule rule{2, -2, 1};  // 0.5, 1, 2, 4
  EXPECT_EQ(applied(rule, {100, -100, kInfinity, 0.36F, 0.35F, -0.36F, 0}),
            (std::vector<float>{4, -4, 4, 0.5F, 0, -0.5F, 0}));
}

TEST(RealRules, RulesOutsideTheirRangesAreRefused) {
  const std::vector<TensorRule> wrong = {UniformRule{0, 0, -128, 127},
                                         UniformRule{-1, 0, -128, 127},
                                         UniformRule{kNan, 0, -128, 127},
                                         UniformRule{kInfinity, 0, -128, 127},
                                         UniformRule{1, 0, 5, 4},
                                         UniformRule{1, 0, 0, kMostLevel + 1},
                                         UniformRule{1, 2147483647, -2147483647, 0},
                                         DynamicRule{0, false},
                                         DynamicRule{9, false},
                                         DynamicRule{1, true},
                                         FloatRule{Format::kE4m3, 0},
                                         Log2Rule{1, -127, 0},
                                         Log2Rule{1, 0, 128},
                                         Log2Rule{1, 1, 0}};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Tensor tensor = row({1, 2});
    EXPECT_THROW(apply(wrong[i], tensor), Error) << i;
    EXPECT_EQ(tensor, row({1, 2})) << i;
  }
}

}  // namespace
}  // namespace qsim::golden
