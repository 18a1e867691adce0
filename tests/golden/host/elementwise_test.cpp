// Elementwise operators, with numbers by hand.
#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor of_two(const std::string& op, Tensor a, Tensor b) {
  return OneNode(op).input(std::move(a)).input(std::move(b)).result();
}
Tensor of_one(const std::string& op, Tensor x) { return OneNode(op).input(std::move(x)).result(); }

TEST(HostElementwise, SumsOfColumnsAndRowsBroadcast) {
  EXPECT_EQ(of_two("Add", i32({2, 1}, {1, 2}), i32({3}, {10, 20, 30})),
            i32({2, 3}, {11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(of_two("Sub", f32({2}, {1, 2}), f32({}, {4})), f32({2}, {-3, -2}));
  EXPECT_EQ(of_two("Mul", f64({1, 2}, {3, 5}), f64({2, 1}, {2, 7})), f64({2, 2}, {6, 10, 21, 35}));
}

TEST(HostElementwise, IntegersWrap) {
  EXPECT_EQ(of_two("Add", i8({2}, {100, -100}), i8({1}, {100})), i8({2}, {-56, 0}));
  EXPECT_EQ(of_two("Mul", u8({2}, {16, 3}), u8({2}, {17, 5})), u8({2}, {16, 15}));
  EXPECT_EQ(of_one("Neg", i32({2}, {INT32_MIN, 5})), i32({2}, {INT32_MIN, -5}));
  EXPECT_EQ(of_one("Abs", i8({3}, {-128, -3, 4})), i8({3}, {-128, 3, 4}));
}

TEST(HostElementwise, IntegersDivideTowardsZeroAndNeverTrap) {
  EXPECT_EQ(of_two("Div", i32({4}, {7, -7, INT32_MIN, 5}), i32({4}, {2, 2, -1, 0})),
            i32({4}, {3, -3, INT32_MIN, 0}));
  EXPECT_EQ(of_two("Div", i64({1}, {INT64_MIN}), i64({1}, {-1})), i64({1}, {INT64_MIN}));
  EXPECT_EQ(of_two("Mod", i32({3}, {-7, 7, INT32_MIN}), i32({3}, {3, -3, -1})),
            i32({3}, {2, -2, 0}));
  of_two("Mod", i32({1}, {5}), i32({1}, {0}));
  EXPECT_EQ(OneNode("Mod")
                .with("fmod", std::int64_t{1})
                .input(f32({2}, {-7.5F, 7.5F}))
                .input(f32({2}, {2, -2}))
                .result(),
            f32({2}, {-1.5F, 1.5F}));
}

TEST(HostElementwise, PowersKeepTheTypeOfTheBase) {
  EXPECT_EQ(of_two("Pow", f32({3}, {2, 3, -2}), f32({3}, {3, 2, 2})), f32({3}, {8, 9, 4}));
  EXPECT_EQ(of_two("Pow", i32({2}, {3, -2}), f32({1}, {3})), i32({2}, {27, -8}));
}

TEST(HostElementwise, ClipTakesItsBoundsFromWhereItsOpsetSays) {
  const auto x = f32({3}, {-3, 0.5F, 5});
  EXPECT_EQ(OneNode("Clip").input(x).absent().input(f32({}, {2})).result(),
            f32({3}, {-3, 0.5F, 2}));
  EXPECT_EQ(OneNode("Clip").input(x).input(f32({}, {-1})).result(), f32({3}, {-1, 0.5F, 5}));
  EXPECT_EQ(OneNode("Clip", 10).with("min", -1.0F).with("max", 3.0F).input(x).result(),
            f32({3}, {-1, 0.5F, 3}));
  EXPECT_EQ(
      OneNode("Clip").input(i8({3}, {-9, 1, 9})).input(i8({}, {-2})).input(i8({}, {4})).result(),
      i8({3}, {-2, 1, 4}));
}

TEST(HostElementwise, CastsTruncateWrapAndSaturate) {
  const auto cast = [](Tensor x, std::int64_t to) {
    return OneNode("Cast").with("to", to).input(std::move(x)).result();
  };
  EXPECT_EQ(cast(f32({4}, {1.9F, -1.9F, 3e9F, kNan}), 6), i32({4}, {1, -1, INT32_MAX, 0}));
  EXPECT_EQ(cast(i32({2}, {300, -1}), 2), u8({2}, {44, 255}));
  EXPECT_EQ(cast(f32({3}, {0, 0.25F, -2}), 9), bools({3}, {0, 1, 1}));
  EXPECT_EQ(cast(bools({2}, {1, 0}), 1), f32({2}, {1, 0}));
  EXPECT_EQ(cast(i64({1}, {-5}), 11), f64({1}, {-5}));
  EXPECT_EQ(OneNode("CastLike").input(f32({1}, {7.5F})).input(i8({2}, {0, 0})).result(),
            i8({1}, {7}));
}

TEST(HostElementwise, WhereTakesOneOrTheOther) {
  EXPECT_EQ(OneNode("Where")
                .input(bools({2, 1}, {1, 0}))
                .input(i32({2}, {1, 2}))
                .input(i32({}, {9}))
                .result(),
            i32({2, 2}, {1, 2, 9, 9}));
}

TEST(HostElementwise, SlopesAreOfNegativeNumbers) {
  EXPECT_EQ(of_two("PRelu", f32({1, 2, 1, 2}, {-2, 4, -2, 4}), f32({2, 1, 1}, {0.5F, 0.25F})),
            f32({1, 2, 1, 2}, {-1, 4, -0.5F, 4}));
  EXPECT_EQ(OneNode("LeakyRelu").with("alpha", 0.25F).input(f32({2}, {-4, 4})).result(),
            f32({2}, {-1, 4}));
  EXPECT_EQ(of_one("Relu", i32({3}, {-5, 0, 6})), i32({3}, {0, 0, 6}));
  EXPECT_EQ(OneNode("ThresholdedRelu").with("alpha", 2.0F).input(f32({3}, {1, 2, 3})).result(),
            f32({3}, {0, 0, 3}));
  EXPECT_EQ(OneNode("HardSigmoid")
                .with("alpha", 0.5F)
                .with("beta", 0.5F)
                .input(f32({4}, {-2, 0, 0.5F, 2}))
                .result(),
            f32({4}, {0, 0.5F, 0.75F, 1}));
  EXPECT_EQ(
      OneNode("Shrink").with("lambd", 1.5F).with("bias", 0.5F).input(f32({3}, {-2, 1, 3})).result(),
      f32({3}, {-1.5F, 0, 2.5F}));
}

TEST(HostElementwise, RoundTakesTiesToEven) {
  EXPECT_EQ(of_one("Round", f32({5}, {0.5F, 1.5F, 2.5F, -2.5F, 2.75F})),
            f32({5}, {0, 2, 2, -2, 3}));
  EXPECT_EQ(of_one("Floor", f32({2}, {-1.5F, 2.5F})), f32({2}, {-2, 2}));
  EXPECT_EQ(of_one("Ceil", f32({2}, {-1.5F, 2.5F})), f32({2}, {-1, 3}));
}

TEST(HostElementwise, TheLargestIsOfAllInputsAndNanWins) {
  EXPECT_EQ(OneNode("Max")
                .input(f32({2}, {1, 8}))
                .input(f32({}, {3}))
                .input(f32({2, 1}, {0, 9}))
                .result(),
            f32({2, 2}, {3, 8, 9, 9}));
  const Tensor found = of_two("Min", f32({2}, {kNan, 1}), f32({2}, {1, kNan}));
  for (const float value : found.as<float>()) EXPECT_NE(value, value);
  EXPECT_EQ(OneNode("Sum").input(f32({1}, {1})).input(f32({1}, {2})).input(f32({1}, {4})).result(),
            f32({1}, {7}));
  EXPECT_EQ(OneNode("Mean").input(f32({2}, {1, 2})).input(f32({2}, {4, 8})).result(),
            f32({2}, {2.5F, 5}));
}

TEST(HostElementwise, ComparisonsAndLogicGiveBools) {
  const auto a = f32({3}, {1, 2, 3});
  const auto b = f32({3}, {3, 2, 1});
  EXPECT_EQ(of_two("Less", a, b), bools({3}, {1, 0, 0}));
  EXPECT_EQ(of_two("LessOrEqual", a, b), bools({3}, {1, 1, 0}));
  EXPECT_EQ(of_two("Greater", a, b), bools({3}, {0, 0, 1}));
  EXPECT_EQ(of_two("GreaterOrEqual", a, b), bools({3}, {0, 1, 1}));
  EXPECT_EQ(of_two("Equal", a, b), bools({3}, {0, 1, 0}));
  const auto p = bools({4}, {0, 0, 1, 1});
  const auto q = bools({4}, {0, 1, 0, 1});
  EXPECT_EQ(of_two("And", p, q), bools({4}, {0, 0, 0, 1}));
  EXPECT_EQ(of_two("Or", p, q), bools({4}, {0, 1, 1, 1}));
  EXPECT_EQ(of_two("Xor", p, q), bools({4}, {0, 1, 1, 0}));
  EXPECT_EQ(of_one("Not", p), bools({4}, {1, 1, 0, 0}));
  EXPECT_EQ(of_one("IsNaN", f32({2}, {kNan, 1})), bools({2}, {1, 0}));
  EXPECT_EQ(OneNode("IsInf")
                .with("detect_negative", std::int64_t{0})
                .input(f32({3}, {kInfinity, -kInfinity, 1}))
                .result(),
            bools({3}, {1, 0, 0}));
}

TEST(HostElementwise, ShiftsAndSignsAreOfIntegersToo) {
  EXPECT_EQ(OneNode("BitShift")
                .with("direction", std::string("LEFT"))
                .input(u8({3}, {1, 3, 255}))
                .input(u8({3}, {2, 1, 4}))
                .result(),
            u8({3}, {4, 6, 240}));
  EXPECT_EQ(of_one("Sign", i32({3}, {-7, 0, 9})), i32({3}, {-1, 0, 1}));
}

TEST(HostElementwise, DropoutOfATrainedNetworkChangesNothing) {
  const auto found = OneNode("Dropout").input(f32({2}, {3, -4})).outputs(2).results();
  EXPECT_EQ(found.at(0), f32({2}, {3, -4}));
  EXPECT_EQ(found.at(1), bools({2}, {1, 1}));
}

struct FunctionCase {
  const char* op;
  float x;
  double y;
  int opset = 17;
};

TEST(HostElementwise, FunctionsAreTheirMathematicalNamesakes) {
  constexpr FunctionCase kCases[] = {
      {"Exp", 1.5F, 4.4816890703380645},
      {"Log", 5, 1.6094379124341003},
      {"Sqrt", 6.25F, 2.5},
      {"Reciprocal", -8, -0.125},
      {"Sin", 2, 0.9092974268256817},
      {"Cos", 2, -0.4161468365471424},
      {"Tan", 1, 1.5574077246549023},
      {"Asin", 0.5F, 0.5235987755982989},
      {"Acos", 0.25F, 1.318116071652818},
      {"Atan", 3, 1.2490457723982544},
      {"Sinh", 2, 3.626860407847019},
      {"Cosh", 2, 3.7621956910836314},
      {"Asinh", -2, -1.4436354751788103},
      {"Acosh", 3, 1.762747174039086},
      {"Atanh", 0.5F, 0.5493061443340549},
      {"Tanh", 0.75F, 0.6351489523872873},
      {"Sigmoid", 2, 0.8807970779778823},
      {"Sigmoid", -3, 0.04742587317756678},
      {"Erf", 0.5F, 0.5204998778130465},
      {"Softplus", 1, 1.3132616875182228},
      {"Softsign", -3, -0.75},
      {"Elu", -1, -0.6321205588285577},
      {"Selu", -1, -1.1113307378125625},
      {"Celu", -2, -0.8646647167633873},
      {"HardSwish", 1.5F, 1.125},
      {"Mish", 1, 0.8650983882673103, 18},
      {"Gelu", 1, 0.8413447460685429, 20},
      {"Swish", 2, 1.7615941559557646, 24},
  };
  for (const FunctionCase& row : kCases) {
    SCOPED_TRACE(row.op);
    expect_near(OneNode(row.op, row.opset).input(f32({1}, {row.x})).result(), {row.y});
  }
  expect_near(
      OneNode("Gelu", 20).with("approximate", std::string("tanh")).input(f32({1}, {1})).result(),
      {0.8411919906082768});
  expect_near(microsoft("QuickGelu").input(f32({1}, {1})).result(), {0.8457957659328212});
  expect_near(microsoft("BiasGelu").input(f32({1}, {0.25F})).input(f32({1}, {0.75F})).result(),
              {0.8413447460685429});
}

TEST(HostElementwise, TypesThatDoNotFitAreRefused) {
  OneNode("Add").input(f32({1}, {1})).input(i32({1}, {1})).error(kBad);
  OneNode("And").input(f32({1}, {1})).input(f32({1}, {1})).error(kUnsupported);
  OneNode("Sqrt").input(i32({1}, {1})).error(kUnsupported);
  OneNode("Where")
      .input(i32({1}, {1}))
      .input(f32({1}, {1}))
      .input(f32({1}, {1}))
      .error(kUnsupported);
}

}  // namespace
}  // namespace qsim::golden
