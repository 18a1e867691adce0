// Scales and shifts by channel go into the layer before, in double with one rounding; or stay a
// layer. The expected numbers are computed here from the file's.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/importer/real/real_model.h"

namespace qsim {
namespace {

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) {
    names.push_back(layer.name + ": " + std::string(operation_name(layer.operation)));
  }
  return names;
}

const Conv2d& conv_of(const Graph& graph, std::size_t layer) {
  return std::get<Conv2d>(graph.layers[layer].operation);
}

struct Norm {
  std::vector<double> scale;
  std::vector<double> shift;
};

Norm norm_of(RealModel& model, float epsilon = 1e-5F) {
  const auto gamma = numbers_of(model, "gamma");
  const auto beta = numbers_of(model, "beta");
  const auto mean = numbers_of(model, "mean");
  const auto variance = numbers_of(model, "variance");
  Norm norm;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    const double scale = double{gamma[c]} / std::sqrt(double{variance[c]} + double{epsilon});
    norm.scale.push_back(scale);
    norm.shift.push_back(double{beta[c]} - double{mean[c]} * scale);
  }
  return norm;
}

// [3][2][3][3] of the file at [co][ky][kx][ci].
float weight_at(const std::vector<float>& w, std::size_t co, std::size_t ky, std::size_t kx,
                std::size_t ci) {
  return w[((co * 2 + ci) * 3 + ky) * 3 + kx];
}

// Compares layer 0 with weights * scale and bias * scale + shift.
void expect_folded(const Graph& graph, RealModel& model, const Norm& norm) {
  const Conv2d& conv = conv_of(graph, 0);
  const auto w = numbers_of(model, "w");
  const auto b = numbers_of(model, "b");
  ASSERT_EQ(conv.weights.shape, (Shape{3, 3, 3, 2}));
  const auto weights = conv.weights.as<float>();
  std::size_t at = 0;
  for (std::size_t co = 0; co < 3; ++co) {
    for (std::size_t ky = 0; ky < 3; ++ky) {
      for (std::size_t kx = 0; kx < 3; ++kx) {
        for (std::size_t ci = 0; ci < 2; ++ci) {
          const double wanted = double{weight_at(w, co, ky, kx, ci)} * norm.scale[co];
          ASSERT_EQ(weights[at++], static_cast<float>(wanted)) << co << ky << kx << ci;
        }
      }
    }
    const double bias = norm.scale[co] * double{b[co]} + norm.shift[co];
    EXPECT_EQ(conv.bias.as<float>()[co], static_cast<float>(bias));
  }
}

TEST(Folding, ABatchNormAfterAConvolutionGoesIntoIt) {
  RealModel model;
  model.set_float("norm", "epsilon", 0.02F);
  const Graph graph = import_real(model);
  EXPECT_EQ(names_of(graph),
            (std::vector<std::string>{"conv: conv2d", "relu: relu", "pool: max_pool",
                                      "flatten: flatten", "fc: fully_connected"}));
  EXPECT_EQ(graph.layers[0].tensor, "norm.out");
  expect_folded(graph, model, norm_of(model, 0.02F));
}

TEST(Folding, ConstantsAfterItComposeAndRoundOnce) {
  RealModel model;
  model.set_numbers("factor", {3, 1, 1}, 7);
  model.set_numbers("term", {1, 3, 1, 1}, 8);
  model.insert_binary("relu", "Mul", "mul", "factor");
  model.insert_binary("relu", "Sub", "sub", "term");
  model.set_scale("three", {}, {3.0F});
  model.insert_binary("relu", "Div", "div", "three");
  Norm norm = norm_of(model);
  const auto factor = numbers_of(model, "factor");
  const auto term = numbers_of(model, "term");
  for (std::size_t c = 0; c < 3; ++c) {
    const double by = factor[c];
    const double minus = term[c];
    norm.scale[c] = (1.0 / 3.0) * (by * norm.scale[c]);
    norm.shift[c] = (1.0 / 3.0) * (by * norm.shift[c] - minus);
  }
  const Graph graph = import_real(model);
  EXPECT_EQ(graph.layers.size(), 5u);
  EXPECT_EQ(graph.layers[0].tensor, "div.out");
  const auto w = numbers_of(model, "w");
  const auto weights = conv_of(graph, 0).weights.as<float>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t co = i / 18;
    const float from = weight_at(w, co, i / 6 % 3, i / 2 % 3, i % 2);
    // Products of doubles in another order may round otherwise by one ulp of double.
    EXPECT_NEAR(weights[i], double{from} * norm.scale[co], 0x1p-24 * std::abs(double{from}));
  }
}

TEST(Folding, ATensorThatAnotherNodeReadsKeepsItsBatchNormApart) {
  RealModel model;
  model.insert_binary("pool", "Add", "sum", "conv.out");
  const Graph graph = import_real(model);
  EXPECT_EQ(names_of(graph)[1], "norm: conv2d");
  const Norm norm = norm_of(model);
  const Conv2d& alone = conv_of(graph, 1);
  EXPECT_EQ(alone.groups, 3);
  EXPECT_EQ(alone.weights.shape, (Shape{3, 1, 1, 1}));
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(alone.weights.as<float>()[c], static_cast<float>(norm.scale[c]));
    EXPECT_EQ(alone.bias.as<float>()[c], static_cast<float>(norm.shift[c]));
    EXPECT_EQ(conv_of(graph, 0).bias.as<float>()[c], numbers_of(model, "b")[c]);
  }
}

TEST(Folding, ATensorThatIsReadByAnotherNameCountsAsRead) {
  RealModel model;
  model.insert_before("norm", "Identity", "alias");
  model.node("norm").set_input(0, "conv.out");
  model.insert_binary("pool", "Add", "sum", "alias.out");
  EXPECT_EQ(names_of(import_real(model))[1], "norm: conv2d");
}

TEST(Folding, ABatchNormBeforeAConvolutionStaysALayer) {
  RealModel model;
  model.set_reals("gamma2", {2}, {0.5F, 0.0F});
  model.set_numbers("two", {2});
  model.set_reals("variance2", {2}, {0.0F, 1.0F});
  onnx::NodeProto& node = model.insert_before("conv", "BatchNormalization", "first");
  for (const char* input : {"gamma2", "two", "two", "variance2"}) node.add_input(input);
  const Graph graph = import_real(model);
  EXPECT_EQ(names_of(graph)[0], "first: conv2d");
  EXPECT_EQ(names_of(graph)[1], "conv: conv2d");
  EXPECT_EQ(conv_of(graph, 0).weights.as<float>()[1], 0.0F);  // a dead channel
  EXPECT_EQ(conv_of(graph, 0).bias.as<float>()[1], numbers_of(model, "two")[1]);
}

TEST(Folding, APadBeforeABatchNormIsPartOfTheLayer) {
  RealModel model;
  model.set_opset(10);
  model.insert_before("norm", "Pad", "pad");
  model.set_ints("pad", "pads", {0, 0, 1, 0, 0, 0, 0, 1});
  model.set_numbers("fc_w", {5, 12});
  model.drop_attribute("pool", "strides");
  model.set_ints("pool", "kernel_shape", {4, 4});
  const Graph graph = import_real(model);
  EXPECT_EQ(names_of(graph)[1], "norm: conv2d");
  const Window window{1, 1, 1, 1, 1, 0, 0, 1};
  EXPECT_EQ(conv_of(graph, 1).window, window);
  EXPECT_EQ(graph.tensors[2].shape, (ImageShape{1, 5, 5, 3}));
}

TEST(Folding, AlphaBetaAndALaterBatchNormGoIntoAGemm) {
  RealModel model;
  model.set_float("fc", "alpha", 0.3F);
  model.set_float("fc", "beta", -1.7F);
  model.node("fc").set_output(0, "fc.out");
  onnx::NodeProto& node = *model.graph().add_node();
  node.set_op_type("BatchNormalization");
  node.set_name("last");
  for (const char* input : {"fc.out", "g5", "b5", "m5", "v5"}) node.add_input(input);
  node.add_output("scores");
  model.set_numbers("g5", {5}, 1);
  model.set_numbers("b5", {5}, 2);
  model.set_numbers("m5", {5}, 3);
  model.set_reals("v5", {5}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F});
  const Graph graph = import_real(model);
  ASSERT_EQ(graph.layers.size(), 5u);
  const auto& linear = std::get<FullyConnected>(graph.layers[4].operation);
  for (std::size_t m = 0; m < 5; ++m) {
    const double scale = double{numbers_of(model, "g5")[m]} /
                         std::sqrt(double{numbers_of(model, "v5")[m]} + double{1e-5F});
    const double shift =
        double{numbers_of(model, "b5")[m]} - double{numbers_of(model, "m5")[m]} * scale;
    for (std::size_t k = 0; k < 12; ++k) {
      const double w = double{numbers_of(model, "fc_w")[m * 12 + k]};
      EXPECT_EQ(linear.weights.as<float>()[m * 12 + k],
                static_cast<float>(w * (scale * double{0.3F})));
    }
    const double c = double{-1.7F} * double{numbers_of(model, "fc_b")[m]};
    EXPECT_EQ(linear.bias.as<float>()[m], static_cast<float>(scale * c + shift));
  }
}

TEST(Folding, LeavesOutWhatTheOutputDoesNotDependOn) {
  RealModel model;
  model.insert_before("pool", "Sigmoid", "unused");
  model.node("pool").set_input(0, "relu.out");
  EXPECT_EQ(import_real(model).layers.size(), 5u);
}

}  // namespace
}  // namespace qsim
