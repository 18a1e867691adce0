// Which layers become one, and which tensors share a quantization.
#include "quantize/fusion.h"

#include <gtest/gtest.h>

#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

using Names = std::vector<std::string>;

TEST(Fusion, MakesReluAndClipTheClampOfTheLayerBefore) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 4);
  const TensorId relu = net.relu(conv);
  const TensorId clip = net.clip(relu, -1, 0.5F);
  const Fusion fusion = fuse(net.graph());
  ASSERT_EQ(fusion.layers.size(), 1U);
  EXPECT_EQ(fusion.layers[0].last, 2U);
  EXPECT_EQ(fusion.layers[0].low, 0);
  EXPECT_EQ(fusion.layers[0].high, 0.5F);
  EXPECT_EQ(fusion.held_in[clip], conv);
  EXPECT_EQ(fusion.content[conv], clip);
}

TEST(Fusion, ClampsBeforeAPoolWhatReluCutsOffAfterIt) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 4);
  const TensorId pool = net.max_pool(conv);
  const TensorId relu = net.relu(pool);
  net.linear(net.flatten(relu), 3);
  const Fusion fusion = fuse(net.graph());
  EXPECT_EQ(fusion.layers.size(), 4U);
  EXPECT_EQ(fusion.layers[0].low, 0);
  EXPECT_FALSE(fusion.content[conv].has_value());
  EXPECT_EQ(fusion.content[pool], relu);
  EXPECT_EQ(fusion.group[conv], fusion.group[pool]);
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_EQ(operations(run.network.graph),
            (Names{"conv2d", "max_pool", "flatten", "fully_connected"}));
  EXPECT_EQ(run.network.graph.tensors[1].zero_point, 0);
  EXPECT_FALSE(run.quantizations[conv].has_value());
  EXPECT_FALSE(run.quantizations[pool].has_value());
  EXPECT_TRUE(run.quantizations[relu].has_value());
  EXPECT_GT(output_sqnr(run), 30);
}

TEST(Fusion, ClampsEveryOperandOfAConcatBeforeARelu) {
  SampleNetwork net(kPicture);
  const TensorId a = net.conv(0, 4);
  const TensorId b = net.max_pool(net.conv(0, 4), 1);
  net.conv(net.relu(net.concat({a, b})), 3);
  const JudgedRun run = run_of(net, scheme_of_type(false));
  EXPECT_EQ(operations(run.network.graph),
            (Names{"conv2d", "conv2d", "max_pool", "concat", "conv2d"}));
  for (const std::size_t layer : {0U, 1U}) {
    const auto& conv = std::get<Conv2d>(run.network.graph.layers[layer].operation);
    EXPECT_EQ(conv.requantization.lo, -128);
    EXPECT_EQ(run.network.graph.output_of(layer).zero_point, -128);
  }
  EXPECT_GT(output_sqnr(run), 30);
}

TEST(Fusion, KeepsAReluOfWhatAnotherLayerReadsToo) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 4);
  const TensorId relu = net.relu(conv);
  net.add(net.conv(conv, 4), relu);
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "relu", "conv2d", "add"}));
  EXPECT_EQ(run.quantizations[conv], run.quantizations[relu]);
  EXPECT_NE(run.quantizations[conv]->zero_point, 0);
  EXPECT_GT(output_sqnr(run), 28);
}

TEST(Fusion, KeepsAClipOfWhatAnotherLayerReadsTooAsATable) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 4);
  net.add(net.conv(conv, 4), net.clip(conv, -0.25F, 0.75F));
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "lookup_table", "conv2d", "add"}));
  EXPECT_GT(output_sqnr(run), 28);
}

TEST(Fusion, GivesTheOperandsOfAConcatOneQuantization) {
  SampleNetwork net(kPicture);
  const TensorId a = net.relu(net.conv(0, 4));
  const TensorId b = net.conv(0, 4);
  const TensorId both = net.concat({a, b});
  net.conv(both, 3);
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_EQ(run.quantizations[a], run.quantizations[both]);
  EXPECT_EQ(run.quantizations[b], run.quantizations[both]);
  const auto least = *std::ranges::min_element(run.reals[both].values);
  const Quantization& q = *run.quantizations[both];
  EXPECT_NEAR((q.lo - q.zero_point) * double{q.scale}, least, double{q.scale});
  EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "conv2d", "concat", "conv2d"}));
}

TEST(Fusion, RequantizesTheInputForAConcat) {
  SampleNetwork net(kPicture);
  net.conv(net.concat({0, net.conv(0, 4)}), 3);
  for (float& weight : net.conv_at(0).weights.as<float>()) weight *= 4;
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "lookup_table", "concat", "conv2d"}));
  EXPECT_EQ(run.network.graph.layers[1].name, "concat1/requantize0");
  EXPECT_EQ(run.network.real_layers, (std::vector<std::int64_t>{0, -1, 1, 2}));
  EXPECT_FALSE(run.network.activations[1].has_value());
  EXPECT_GT(output_sqnr(run), 28);
}

TEST(Fusion, JoinsTheStatisticsOfTensorsThatNoConcatHasTogether) {
  for (const std::size_t large : {0U, 2U}) {
    SampleNetwork net(kPicture);
    const TensorId a = net.conv(0, 4);
    const TensorId b = net.conv(0, 4);
    const TensorId c = net.conv(0, 4);
    for (float& weight : net.conv_at(large).weights.as<float>()) weight *= 8;
    const TensorId first = net.concat({a, b});
    net.add(first, net.concat({b, c}));
    const JudgedRun run = run_of(net, scheme_of_type(true));
    EXPECT_EQ(run.quantizations[a], run.quantizations[c]);
    const Quantization& q = *run.quantizations[a];
    const auto [least, most] = std::ranges::minmax(run.reals[large == 0 ? a : c].values);
    EXPECT_NEAR((q.lo - q.zero_point) * double{q.scale}, least, double{q.scale});
    EXPECT_NEAR((q.hi - q.zero_point) * double{q.scale}, most, double{q.scale});
  }
}

}  // namespace
}  // namespace qsim::quantize
