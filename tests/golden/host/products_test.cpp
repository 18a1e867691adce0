// Products, convolutions, pools and recurrent layers of float32 numbers. The numbers are small
// integers, so that sums are exact in any order.
#include <utility>

#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

Tensor ones(Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) value = 1;
  return tensor;
}

TEST(HostProducts, MatricesVectorsAndStacksMultiply) {
  const auto product = [](Tensor a, Tensor b) {
    return OneNode("MatMul").input(std::move(a)).input(std::move(b)).result();
  };
  EXPECT_EQ(product(counted({2, 3}), counted({3, 2})), f32({2, 2}, {22, 28, 49, 64}));
  EXPECT_EQ(product(counted({3}), counted({3, 2})), f32({2}, {22, 28}));
  EXPECT_EQ(product(counted({2, 3}), counted({3})), f32({2}, {14, 32}));
  EXPECT_EQ(product(counted({2}), counted({2}, 5)), f32({}, {17}));
  EXPECT_EQ(product(counted({2, 1, 2}), counted({2, 1})), f32({2, 1, 1}, {5, 11}));
  EXPECT_EQ(product(counted({1, 1, 2}), counted({2, 2, 1})), f32({2, 1, 1}, {5, 11}));
  EXPECT_EQ(product(i32({1, 2}, {3, -4}), i32({2, 1}, {5, 6})), i32({1, 1}, {-9}));
  OneNode("MatMul").input(counted({2, 3})).input(counted({2, 3})).error(kBad);
}

TEST(HostProducts, GemmTurnsScalesAndAdds) {
  EXPECT_EQ(OneNode("Gemm")
                .with("alpha", 2.0F)
                .with("beta", 3.0F)
                .with("transB", Int{1})
                .input(counted({2, 2}))
                .input(counted({2, 2}, 5))
                .input(f32({2}, {1, -1}))
                .result(),
            f32({2, 2}, {37, 43, 81, 103}));
  EXPECT_EQ(OneNode("Gemm")
                .with("transA", Int{1})
                .input(counted({2, 1}))
                .input(counted({2, 2}, 5))
                .result(),
            f32({1, 2}, {19, 22}));
  EXPECT_EQ(microsoft("FusedMatMul")
                .with("transA", Int{1})
                .with("alpha", 0.5F)
                .input(counted({2, 1}))
                .input(counted({2, 2}, 5))
                .result(),
            f32({1, 2}, {9.5F, 11}));
  EXPECT_EQ(microsoft("FusedGemm")
                .with("activation", std::string("Relu"))
                .input(counted({1, 2}))
                .input(f32({2, 2}, {-1, 1, -2, 3}))
                .input(f32({2}, {1, 2}))
                .result(),
            f32({1, 2}, {0, 9}));
}

OneNode conv_3x3() {  // of the numbers 1 to 9
  return OneNode("Conv").input(counted({1, 1, 3, 3}));
}

TEST(HostConvolution, WindowsMoveByStridesOverPads) {
  EXPECT_EQ(conv_3x3().input(ones({1, 1, 2, 2})).result(), f32({1, 1, 2, 2}, {12, 16, 24, 28}));
  EXPECT_EQ(conv_3x3().with("dilations", Integers{2, 2}).input(ones({1, 1, 2, 2})).result(),
            f32({1, 1, 1, 1}, {20}));
  EXPECT_EQ(conv_3x3()
                .with("pads", Integers{1, 0, 0, 1})
                .with("strides", Integers{2, 1})
                .input(counted({1, 1, 2, 2}))
                .input(f32({1}, {100}))
                .result(),
            f32({1, 1, 2, 3}, {111, 118, 109, 167, 177, 133}));
  EXPECT_EQ(conv_3x3()
                .with("auto_pad", std::string("SAME_LOWER"))
                .with("strides", Integers{2, 2})
                .input(ones({1, 1, 2, 2}))
                .result(),
            f32({1, 1, 2, 2}, {1, 5, 11, 28}));
  EXPECT_EQ(OneNode("Conv").input(counted({1, 1, 4})).input(f32({1, 1, 2}, {1, 10})).result(),
            f32({1, 1, 3}, {21, 32, 43}));
  EXPECT_EQ(OneNode("Conv").input(counted({1, 1, 2, 2, 2})).input(ones({1, 1, 2, 2, 2})).result(),
            f32({1, 1, 1, 1, 1}, {36}));
}

TEST(HostConvolution, GroupsReadTheirOwnChannels) {
  EXPECT_EQ(OneNode("Conv")
                .with("group", Int{2})
                .input(counted({1, 4, 1, 1}))
                .input(counted({2, 2, 1, 1}))
                .input(f32({2}, {10, 20}))
                .result(),
            f32({1, 2, 1, 1}, {15, 45}));
  EXPECT_EQ(OneNode("Conv")
                .with("group", Int{2})
                .input(counted({1, 2, 1, 2}))
                .input(f32({4, 1, 1, 1}, {1, 2, 3, 4}))
                .result(),
            f32({1, 4, 1, 2}, {1, 2, 2, 4, 9, 12, 12, 16}));
  OneNode("Conv")
      .with("group", Int{2})
      .input(counted({1, 3, 1, 1}))
      .input(ones({2, 1, 1, 1}))
      .error(kBad);
}

TEST(HostConvolution, OfFusedOnesTheActivationComesLast) {
  EXPECT_EQ(microsoft("FusedConv")
                .with("activation", std::string("LeakyRelu"))
                .with("activation_params", std::vector<float>{0.5F})
                .input(f32({1, 1, 1, 2}, {1, 3}))
                .input(f32({1, 1, 1, 1}, {2}))
                .input(f32({1}, {-4}))
                .result(),
            f32({1, 1, 1, 2}, {-1, 2}));
}

TEST(HostConvolution, TransposedOnesSpreadEachInput) {
  const auto spread = [](OneNode node) {
    return node.input(counted({1, 1, 2})).input(f32({1, 1, 3}, {1, 10, 100})).result();
  };
  EXPECT_EQ(spread(OneNode("ConvTranspose").with("strides", Integers{2})),
            f32({1, 1, 5}, {1, 10, 102, 20, 200}));
  EXPECT_EQ(spread(OneNode("ConvTranspose").with("pads", Integers{1, 0})),
            f32({1, 1, 3}, {12, 120, 200}));
  EXPECT_EQ(spread(OneNode("ConvTranspose")
                       .with("strides", Integers{2})
                       .with("output_padding", Integers{1})),
            f32({1, 1, 6}, {1, 10, 102, 20, 200, 0}));
  EXPECT_EQ(OneNode("ConvTranspose")
                .with("group", Int{2})
                .input(counted({1, 2, 1}))
                .input(f32({2, 2, 1}, {1, 10, 100, 1000}))
                .input(f32({4}, {5, 6, 7, 8}))
                .result(),
            f32({1, 4, 1}, {6, 16, 207, 2008}));
}

TEST(HostPools, TheLargestIsFoundWithItsPlace) {
  const auto found = OneNode("MaxPool")
                         .with("kernel_shape", Integers{2, 2})
                         .with("strides", Integers{2, 2})
                         .with("ceil_mode", Int{1})
                         .input(f32({1, 1, 3, 3}, {9, 2, 3, 4, 5, 6, 7, 8, -1}))
                         .outputs(2)
                         .results();
  EXPECT_EQ(found.at(0), f32({1, 1, 2, 2}, {9, 6, 8, -1}));
  EXPECT_EQ(found.at(1), i64({1, 1, 2, 2}, {0, 5, 7, 8}));
  EXPECT_EQ(OneNode("MaxPool")
                .with("kernel_shape", Integers{2})
                .with("pads", Integers{1, 0})
                .input(i8({1, 1, 3}, {-5, -7, -6}))
                .result(),
            i8({1, 1, 3}, {-5, -5, -6}));
  EXPECT_EQ(OneNode("GlobalMaxPool").input(counted({1, 2, 2, 1})).result(),
            f32({1, 2, 1, 1}, {2, 4}));
}

TEST(HostPools, AnAverageCountsItsPadsOnlyWhereItIsTold) {
  const auto average = [](Int count_pads) {
    return OneNode("AveragePool")
        .with("kernel_shape", Integers{2})
        .with("strides", Integers{2})
        .with("pads", Integers{1, 0})
        .with("count_include_pad", count_pads)
        .input(f32({1, 1, 3}, {3, 4, 8}))
        .result();
  };
  EXPECT_EQ(average(0), f32({1, 1, 2}, {3, 6}));
  EXPECT_EQ(average(1), f32({1, 1, 2}, {1.5F, 6}));
  EXPECT_EQ(OneNode("GlobalAveragePool").input(f32({1, 2, 2}, {1, 4, 3, 9})).result(),
            f32({1, 2, 1}, {2.5F, 6}));
  EXPECT_EQ(OneNode("LpPool")
                .with("kernel_shape", Integers{2})
                .with("p", Int{1})
                .input(f32({1, 1, 3}, {1, -2, 4}))
                .result(),
            f32({1, 1, 2}, {3, 6}));
  EXPECT_EQ(OneNode("GlobalLpPool").input(f32({1, 1, 2}, {3, -4})).result(), f32({1, 1, 1}, {5}));
}

// Each activation is its input, so that states are products by hand.
OneNode recurrent(const std::string& op, std::size_t activations) {
  const std::vector<std::string> linear(activations, "Affine");
  return OneNode(op)
      .with("hidden_size", Int{1})
      .with("activations", linear)
      .with("activation_alpha", std::vector<float>(activations, 1))
      .with("activation_beta", std::vector<float>(activations, 0));
}

TEST(HostRecurrent, StatesGoFromStepToStep) {
  const auto x = f32({2, 1, 1}, {1, 2});
  auto found = recurrent("RNN", 1)
                   .input(x)
                   .input(f32({1, 1, 1}, {2}))
                   .input(f32({1, 1, 1}, {3}))
                   .input(f32({1, 2}, {5, 7}))
                   .absent()
                   .input(f32({1, 1, 1}, {1}))
                   .outputs(2)
                   .results();
  EXPECT_EQ(found.at(0), f32({2, 1, 1, 1}, {17, 67}));
  EXPECT_EQ(found.at(1), f32({1, 1, 1}, {67}));
  found = recurrent("RNN", 1)
              .with("direction", std::string("reverse"))
              .input(x)
              .input(f32({1, 1, 1}, {2}))
              .input(f32({1, 1, 1}, {3}))
              .outputs(2)
              .results();
  EXPECT_EQ(found.at(0), f32({2, 1, 1, 1}, {14, 4}));
  EXPECT_EQ(found.at(1), f32({1, 1, 1}, {14}));
}

TEST(HostRecurrent, LstmGatesAreInputOutputForgetCell) {
  const auto found = recurrent("LSTM", 3)
                         .input(f32({2, 1, 1}, {1, 1}))
                         .input(f32({1, 4, 1}, {1, 2, 3, 4}))
                         .input(f32({1, 4, 1}, {0, 0, 0, 1}))
                         .outputs(3)
                         .results();
  // c = i * 4 = 4, h = 2 * c = 8; then c = 3 * 4 + i * (4 + 8) = 24, h = 48.
  EXPECT_EQ(found.at(0), f32({2, 1, 1, 1}, {8, 48}));
  EXPECT_EQ(found.at(1), f32({1, 1, 1}, {48}));
  EXPECT_EQ(found.at(2), f32({1, 1, 1}, {24}));
}

TEST(HostRecurrent, GruGatesAreUpdateResetHidden) {
  const auto run = [](Int linear_before_reset) {
    return recurrent("GRU", 2)
        .with("linear_before_reset", linear_before_reset)
        .input(f32({2, 1, 1}, {1, 1}))
        .input(f32({1, 3, 1}, {2, 3, 5}))
        .input(f32({1, 3, 1}, {0, 0, 1}))
        .input(f32({1, 6}, {0, 0, 0, 0, 0, 1}))
        .outputs(2)
        .results();
  };
  // Candidate 5 + 3 * 0 + 1 = 6, h = (1 - 2) * 6 = -6; then 5 + 3 * -6 + 1 = -12, h = 12 + 2 * -6.
  EXPECT_EQ(run(0).at(0), f32({2, 1, 1, 1}, {-6, 0}));
  // Candidate 5 + 3 * (0 + 1) = 8, h = -8; then 5 + 3 * (-8 + 1) = -16, h = 16 + 2 * -8.
  EXPECT_EQ(run(1).at(1), f32({1, 1, 1}, {0}));
  EXPECT_EQ(run(1).at(0), f32({2, 1, 1, 1}, {-8, 0}));
}

}  // namespace
}  // namespace qsim::golden
