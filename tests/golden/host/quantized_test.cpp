// Levels: QuantizeLinear and its like, and operators on 8-bit numbers. Scales are powers of two, so
// that products are exact.
#include <utility>

#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

Tensor scale(float value) { return f32({}, {value}); }
Tensor zero(int value) { return u8({}, {value}); }

TEST(HostQuantized, QuantizeTakesTiesToEvenAndSaturates) {
  EXPECT_EQ(OneNode("QuantizeLinear")
                .input(f32({6}, {0.25F, 0.75F, -0.75F, 500, -500, 1}))
                .input(scale(0.5F))
                .input(zero(128))
                .result(),
            u8({6}, {128, 130, 126, 255, 0, 130}));
  EXPECT_EQ(OneNode("QuantizeLinear").input(f32({2}, {3, -1})).input(scale(0.5F)).result(),
            u8({2}, {6, 0}));
  EXPECT_EQ(OneNode("QuantizeLinear")
                .with("axis", Int{0})
                .input(f32({2, 2}, {1, 2, 1, 2}))
                .input(f32({2}, {0.5F, 0.25F}))
                .input(i8({2}, {1, -3}))
                .result(),
            i8({2, 2}, {3, 5, 1, 5}));
  EXPECT_EQ(OneNode("QuantizeLinear", 21)
                .with("axis", Int{0})
                .with("block_size", Int{2})
                .input(f32({4}, {1, 2, 1, 2}))
                .input(f32({2}, {1, 0.5F}))
                .input(u8({2}, {10, 20}))
                .result(),
            u8({4}, {11, 12, 22, 24}));
}

TEST(HostQuantized, DequantizeSubtractsFirst) {
  EXPECT_EQ(OneNode("DequantizeLinear")
                .input(u8({3}, {0, 130, 255}))
                .input(scale(0.5F))
                .input(zero(128))
                .result(),
            f32({3}, {-64, 1, 63.5F}));
  EXPECT_EQ(OneNode("DequantizeLinear")
                .input(i8({1, 2}, {4, 4}))
                .input(f32({2}, {0.5F, 2}))
                .input(i8({2}, {1, -3}))
                .result(),
            f32({1, 2}, {1.5F, 14}));
  EXPECT_EQ(OneNode("DequantizeLinear").input(i32({2}, {1000, -3})).input(scale(0.25F)).result(),
            f32({2}, {250, -0.75F}));
}

TEST(HostQuantized, ADynamicScaleIsOfTheNumbersAndZero) {
  const auto found =
      OneNode("DynamicQuantizeLinear").input(f32({3}, {51, 0, 127.5F})).outputs(3).results();
  EXPECT_EQ(found.at(0), u8({3}, {102, 0, 255}));
  EXPECT_EQ(found.at(1), scale(0.5F));
  EXPECT_EQ(found.at(2), zero(0));
  EXPECT_EQ(OneNode("DynamicQuantizeLinear")
                .input(f32({2}, {-63.75F, -31.75F}))
                .outputs(3)
                .results()
                .at(2),
            zero(255));
}

TEST(HostQuantized, IntegerProductsSubtractZeroPoints) {
  EXPECT_EQ(OneNode("MatMulInteger")
                .input(u8({1, 2}, {5, 7}))
                .input(i8({2, 2}, {1, -2, 3, 4}))
                .input(zero(2))
                .input(i8({2}, {1, -1}))
                .result(),
            i32({1, 2}, {10, 22}));
  EXPECT_EQ(OneNode("ConvInteger")
                .input(u8({1, 1, 1, 2}, {3, 5}))
                .input(u8({1, 1, 1, 2}, {1, 4}))
                .input(zero(1))
                .input(zero(2))
                .result(),
            i32({1, 1, 1, 1}, {6}));
  EXPECT_EQ(OneNode("ConvInteger")
                .with("pads", Integers{0, 1, 0, 0})
                .input(u8({1, 1, 1, 2}, {3, 5}))
                .input(u8({1, 1, 1, 2}, {1, 4}))
                .input(zero(1))
                .result(),
            i32({1, 1, 1, 2}, {8, 18}));
}

TEST(HostQuantized, ProductsOfLevelsAreRescaled) {
  EXPECT_EQ(OneNode("QLinearMatMul")
                .input(u8({1, 2}, {5, 7}))
                .input(scale(0.5F))
                .input(zero(2))
                .input(i8({2, 2}, {1, -2, 3, 4}))
                .input(scale(0.25F))
                .input(i8({}, {0}))
                .input(scale(0.25F))
                .input(zero(100))
                .result(),
            u8({1, 2}, {109, 107}));
  EXPECT_EQ(OneNode("QLinearConv")
                .with("pads", Integers{0, 1, 0, 0})
                .input(u8({1, 1, 1, 2}, {3, 5}))
                .input(scale(0.5F))
                .input(zero(1))
                .input(i8({2, 1, 1, 2}, {1, 4, -2, 3}))
                .input(f32({2}, {0.5F, 1}))
                .input(i8({2}, {0, 0}))
                .input(scale(0.5F))
                .input(zero(10))
                .input(i32({2}, {6, -2}))
                .result(),
            u8({1, 2, 1, 2}, {17, 22, 14, 16}));
  EXPECT_EQ(microsoft("QGemm")
                .with("transB", Int{1})
                .input(u8({1, 2}, {5, 7}))
                .input(scale(0.5F))
                .input(zero(2))
                .input(i8({1, 2}, {1, 3}))
                .input(scale(0.5F))
                .input(i8({}, {0}))
                .input(i32({1}, {2}))
                .input(scale(0.5F))
                .input(zero(3))
                .result(),
            u8({1, 1}, {13}));
  EXPECT_EQ(microsoft("QGemm")
                .input(u8({1, 1}, {5}))
                .input(scale(0.5F))
                .input(zero(2))
                .input(i8({1, 1}, {7}))
                .input(scale(0.5F))
                .input(i8({}, {0}))
                .result(),
            f32({1, 1}, {5.25F}));
  EXPECT_EQ(microsoft("MatMulIntegerToFloat")
                .input(u8({1, 2}, {5, 7}))
                .input(i8({2, 1}, {1, 3}))
                .input(scale(0.5F))
                .input(scale(0.25F))
                .input(zero(1))
                .input(i8({}, {0}))
                .input(f32({1}, {10}))
                .result(),
            f32({1, 1}, {12.75F}));
  EXPECT_EQ(microsoft("DynamicQuantizeMatMul")
                .input(f32({1, 2}, {127.5F, 2}))
                .input(i8({2, 1}, {1, 3}))
                .input(scale(2))
                .result(),
            f32({1, 1}, {267}));
}

TEST(HostQuantized, ElementwiseOperatorsWorkOnTheNumbersThatLevelsMean) {
  const auto of_two = [](const std::string& op) {
    return microsoft(op)
        .input(u8({2}, {12, 6}))
        .input(scale(0.5F))
        .input(zero(10))
        .input(u8({1}, {24}))
        .input(scale(0.25F))
        .input(zero(8))
        .input(scale(0.5F))
        .input(zero(20))
        .result();
  };
  EXPECT_EQ(of_two("QLinearAdd"), u8({2}, {30, 24}));
  EXPECT_EQ(of_two("QLinearMul"), u8({2}, {28, 4}));
  EXPECT_EQ(microsoft("QLinearLeakyRelu")
                .with("alpha", 0.5F)
                .input(u8({2}, {6, 12}))
                .input(scale(1))
                .input(zero(10))
                .input(scale(0.5F))
                .input(zero(20))
                .result(),
            u8({2}, {16, 24}));
  EXPECT_EQ(microsoft("QLinearConcat")
                .with("axis", Int{0})
                .input(scale(0.5F))
                .input(zero(10))
                .input(u8({1}, {7}))
                .input(scale(1))
                .input(zero(3))
                .input(u8({1}, {7}))
                .input(scale(0.5F))
                .input(zero(10))
                .result(),
            u8({2}, {18, 7}));
  EXPECT_EQ(microsoft("QLinearWhere")
                .input(bools({2}, {1, 0}))
                .input(u8({1}, {7}))
                .input(scale(1))
                .input(zero(3))
                .input(u8({1}, {9}))
                .input(scale(0.5F))
                .input(zero(1))
                .input(scale(0.5F))
                .input(zero(10))
                .result(),
            u8({2}, {18, 18}));
  // Sigmoid of 0 and of 4, in 256ths.
  EXPECT_EQ(microsoft("QLinearSigmoid")
                .input(u8({2}, {10, 18}))
                .input(scale(0.5F))
                .input(zero(10))
                .input(scale(1.0F / 256))
                .input(zero(0))
                .result(),
            u8({2}, {128, 251}));
}

TEST(HostQuantized, PoolsOfLevelsRoundTheAverage) {
  EXPECT_EQ(microsoft("QLinearAveragePool")
                .with("kernel_shape", Integers{1, 2})
                .with("strides", Integers{1, 2})
                .input(u8({1, 1, 1, 4}, {12, 14, 16, 22}))
                .input(scale(0.5F))
                .input(zero(10))
                .input(scale(0.25F))
                .input(zero(1))
                .result(),
            u8({1, 1, 1, 2}, {7, 19}));
  EXPECT_EQ(microsoft("QLinearGlobalAveragePool")
                .with("channels_last", Int{1})
                .input(u8({1, 2, 1, 2}, {12, 20, 14, 26}))
                .input(scale(0.5F))
                .input(zero(10))
                .input(scale(0.5F))
                .input(zero(1))
                .result(),
            u8({1, 1, 1, 2}, {4, 14}));
  EXPECT_EQ(microsoft("NhwcMaxPool")
                .with("kernel_shape", Integers{2, 1})
                .input(u8({1, 2, 1, 2}, {12, 30, 14, 26}))
                .result(),
            u8({1, 1, 1, 2}, {14, 30}));
}

TEST(HostQuantized, ScalesAndZeroPointsThatDoNotFitAreRefused) {
  OneNode("QuantizeLinear").input(f32({2}, {1, 2})).input(f32({3}, {1, 1, 1})).error(kBad);
  OneNode("DequantizeLinear")
      .input(u8({2}, {1, 2}))
      .input(f32({2}, {1, 1}))
      .input(u8({3}, {0, 0, 0}))
      .with("axis", Int{0})
      .error(kBad);
}

// The host has wider types for these: the file's type is an attribute.
TEST(HostQuantizeLinear, SaturatesToTheTypeOfTheFile) {
  const auto levels = [](Int onnx, const Tensor& zero_point) {
    return OneNode("QuantizeLinear", 21)
        .with("output_dtype", onnx)
        .input(f32({3}, {-1e6, 3, 1e6}))
        .input(f32({}, {1}))
        .input(zero_point)
        .result();
  };
  EXPECT_EQ(levels(4, i32({}, {1})), i32({3}, {0, 4, 65535}));
  EXPECT_EQ(levels(22, i8({}, {1})), i8({3}, {-8, 4, 7}));
  EXPECT_EQ(levels(21, u8({}, {1})), u8({3}, {0, 4, 15}));
}

}  // namespace
}  // namespace qsim::golden
