// From statistics to a network with QuantizeLinear and DequantizeLinear.
#include "quantize/hosted/qdq_network.h"

#include <gtest/gtest.h>

#include "quantize/hosted/host_calibration.h"
#include "quantize/hosted/host_edit.h"
#include "quantize/hosted/host_opset.h"
#include "tests/quantize/hosted/float_network.h"

namespace qsim::quantize {
namespace {

struct Made {
  HostNetwork network;
  HostPlan plan;
  std::vector<TensorStatistics> statistics;
  std::vector<Quantization> groups;
  QdqNetwork quantized;
  HostErrors errors;
};

constexpr std::int64_t kSamples = 12;

Made make(FloatNetwork& net, const std::vector<HostValueId>& outputs, const Scheme& scheme = {},
          int threads = 1) {
  Made made;
  made.network = net.folded(outputs);
  made.plan = plan_quantization(made.network);
  golden::ThreadTeam team(threads);
  std::vector<std::vector<Tensor>> inputs;
  for (std::int64_t i = 0; i < kSamples; ++i) inputs.push_back(net.sample(made.network));
  const HostSamples samples = {kSamples,
                               [&](std::int64_t i) { return inputs[static_cast<std::size_t>(i)]; }};
  std::vector<HostValueId> wanted;
  for (const HostPlan::Group& group : made.plan.groups) {
    wanted.insert(wanted.end(), group.roots.begin(), group.roots.end());
  }
  made.statistics = calibrate_host(made.network, wanted, samples, team);
  made.groups = quantize_groups(made.network, made.plan, made.statistics, scheme);
  made.quantized = qdq_network(made.network, made.plan, made.groups, scheme);
  QdqNetwork shaped = made.quantized;
  golden::fold_and_shape(shaped.network);
  made.errors = measure_host(made.network, shaped, samples, kSamples, team);
  return made;
}

HostValueId mixed(FloatNetwork& net) {
  const HostValueId x = net.silu(net.norm(net.conv(net.picture(), 3, 8), 8));
  const HostValueId up =
      net.add("ConvTranspose", {x, net.weights({8, 4, 2, 2}), net.constant(net.reals({4}, 0.1))},
              {{"strides", Integers{2, 2}}});
  const HostValueId flat = net.add("GlobalAveragePool", {net.add("Relu", {up})});
  return net.add("Gemm",
                 {net.add("Flatten", {flat}), net.weights({4, 5}), net.constant(net.reals({5}))});
}

TEST(QdqNetwork, IsNearTheFloatNetworkInEveryScheme) {
  for (const Symmetry symmetry : {Symmetry::kAffine, Symmetry::kSymmetric}) {
    for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
      for (const bool is_signed : {false, true}) {
        Scheme scheme;
        scheme.all.symmetry = symmetry;
        scheme.all.kind = kind;
        scheme.all.activations.is_unsigned = !is_signed;
        scheme.all.weights.symmetry = symmetry;
        scheme.all.weights.per_channel = is_signed;
        scheme.input = scheme.all;
        FloatNetwork net;
        const Made made = make(net, {mixed(net)}, scheme);
        EXPECT_GT(sqnr_db(made.errors.output), 20);
        EXPECT_TRUE(std::isfinite(sqnr_db(made.errors.output)));
      }
    }
  }
}

TEST(QdqNetwork, KeepsTheNamesOfInputsAndOutputs) {
  FloatNetwork net;
  const Made made = make(net, {mixed(net)});
  const HostNetwork& found = made.quantized.network;
  EXPECT_EQ(found.values[found.inputs[0]].name, made.network.values[made.network.inputs[0]].name);
  EXPECT_EQ(found.values[found.outputs[0]].name, made.network.values[made.network.outputs[0]].name);
  EXPECT_EQ(found.nodes.back().op, "DequantizeLinear");
}

HostValueId output_of_conv(const HostNetwork& network) {
  for (const HostNode& node : network.nodes) {
    if (node.op == "Conv") return node.outputs[0];
  }
  return kAbsentValue;
}

TEST(QdqNetwork, WhoReadsAQuantizedTensorReadsItsLevels) {
  FloatNetwork net;
  const Made made = make(net, {net.conv(net.picture(), 3, 4)});
  const HostNetwork& found = made.quantized.network;
  const HostUses uses(found);
  const HostNode& conv = found.nodes[uses.maker(output_of_conv(found))];
  EXPECT_EQ(conv.inputs[0], *made.quantized.reals[made.network.inputs[0]]);
  for (const HostValueId id : conv.inputs) {
    ASSERT_NE(uses.maker(id), kNoNode) << found.values[id].name;
    EXPECT_EQ(found.nodes[uses.maker(id)].op, "DequantizeLinear");
  }
}

TEST(QdqNetwork, ABiasHasTheScaleOfInputAndWeights) {
  FloatNetwork net;
  const Made made = make(net, {net.conv(net.picture(), 3, 4)});
  const HostNetwork& found = made.quantized.network;
  std::map<std::string, Tensor> constants;
  for (const HostValue& value : found.values) constants[value.name] = value.array.tensor;
  const std::string conv = made.network.nodes[0].name;
  const float input = made.groups[*made.plan.group_of[made.network.inputs[0]]].scale;
  const Tensor& weights = constants.at(conv + "/weights/scale");
  const Tensor& bias = constants.at(conv + "/bias/scale");
  ASSERT_EQ(weights.elems(), 4);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(bias.as<float>()[c], input * weights.as<float>()[c]);
  }
  EXPECT_EQ(constants.at(conv + "/bias/levels").dtype, DType::kInt32);
  EXPECT_EQ(constants.at(conv + "/weights/levels").dtype, DType::kInt8);
}

TEST(QdqNetwork, FewerLevelsAreCutOffBeforeTheyAreRounded) {
  Scheme scheme;
  scheme.all.activations.bits = 4;
  scheme.input = scheme.all;
  FloatNetwork net;
  const Made made = make(net, {net.conv(net.picture(), 3, 4)}, scheme);
  // The input saturates to its type alone.
  std::vector<std::string> clips;
  for (const HostNode& node : made.quantized.network.nodes) {
    if (node.op == "Clip") clips.push_back(node.name);
  }
  EXPECT_EQ(clips.size(), 1u);
  EXPECT_GT(sqnr_db(made.errors.output), 10);
}

// ONNX Runtime takes out a Clip whose end is rounded to the last level.
TEST(QdqNetwork, LevelsEndWhereAClipDoes) {
  for (const auto& [range_end, levels_end] : {std::pair(5.75F, 5.75F),
                                              {6.0F, 6.0F},
                                              {6.005F, 6.0F},
                                              {6.0117F, 6.0F},
                                              {6.0625F, 6.0625F}}) {
    Scheme scheme;
    scheme.all.clipping = {.rule = ClippingRule::kFixed, .fixed = {0, range_end}};
    FloatNetwork net;
    const HostValueId x = net.conv(net.picture(), 3, 4);
    const HostValueId y = net.add("Clip", {x, net.constant(make_tensor<float>({}, {{0.0F}})),
                                           net.constant(make_tensor<float>({}, {{6.0F}}))});
    const float scale = make(net, {y}, scheme).groups.back().scale;
    EXPECT_LE(scale * 255, levels_end);
    EXPECT_GT(std::nextafter(scale, 1.0F) * 255, levels_end);
  }
}

TEST(QdqNetwork, AddsOperandsWhoseScalesAnAdditionTakes) {
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  const HostValueId tiny = net.conv(net.add("Mul", {x, net.constant(f32({}, {1e-7F}))}), 4, 4);
  HostNetwork& network = net.network;
  for (float& bias : network.values[network.nodes.back().inputs[2]].array.tensor.as<float>())
    bias = 0;
  const HostValueId sum = net.add("Add", {x, tiny});
  const Made made = make(net, {sum});
  const auto scale = [&](HostValueId id) { return made.groups[*made.plan.group_of[id]].scale; };
  EXPECT_GE(scale(tiny), scale(sum) / 65536);
}

TEST(QdqNetwork, DoesNotDependOnThreads) {
  FloatNetwork one;
  FloatNetwork other;
  const Made made = make(one, {mixed(one)}, {}, 1);
  const Made again = make(other, {mixed(other)}, {}, 3);
  EXPECT_EQ(made.groups, again.groups);
  EXPECT_EQ(made.errors.output.sum_squared_errors, again.errors.output.sum_squared_errors);
}

TEST(QdqNetwork, NumbersThatAreNotFiniteAreNamed) {
  FloatNetwork net;
  const HostValueId x = net.add("Log", {net.picture()});
  try {
    make(net, {net.conv(x, 3, 4)});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("tensor 'Log_"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("are not finite in calibration"), std::string::npos);
  }
}

// The nodes of an older opset and of 13 give the same.
void expect_upgraded(FloatNetwork& net, int opset, const std::vector<std::string>& operators) {
  for (HostNode& node : net.network.nodes) node.opset = opset;
  golden::fold_and_shape(net.network);
  HostNetwork upgraded = at_opset_13(net.network);
  golden::fold_and_shape(upgraded);
  EXPECT_EQ(operators_of(upgraded), operators);
  for (const HostNode& node : upgraded.nodes) EXPECT_EQ(node.opset, 13);
  const std::vector<Tensor> inputs = net.sample(net.network);
  EXPECT_EQ(golden::run_host_network(upgraded, inputs),
            golden::run_host_network(net.network, inputs));
}

TEST(HostOpset, AttributesThatAreInputsSinceAndOldResizes) {
  FloatNetwork net;
  HostValueId x = net.add("Clip", {net.picture()}, {{"min", -0.5F}, {"max", 1.5F}});
  x = net.add("Pad", {x}, {{"pads", Integers{0, 0, 1, 0, 0, 0, 0, 1}}, {"value", 0.25F}});
  x = net.add("Slice", {x},
              {{"axes", Integers{2, 3}}, {"starts", Integers{0, 1}}, {"ends", Integers{5, 7}}});
  x = net.add("Upsample", {x, net.constant(f32({4}, {1, 1, 2, 2}))},
              {{"mode", std::string("nearest")}});
  x = net.add("ReduceSum", {x}, {{"axes", Integers{3}}});
  net.output(net.add("Squeeze", {x}, {{"axes", Integers{3}}}));
  expect_upgraded(net, 9, {"Clip", "Pad", "Slice", "Resize", "ReduceSum", "Squeeze"});
}

TEST(HostOpset, SoftmaxOfOneAxisAndSplit) {
  FloatNetwork net;
  const HostValueId x = net.add("Softmax", {net.picture({3, 6, 1})}, {{"axis", Int{1}}});
  const HostValueId half = net.add("Split", {x}, {{"axis", Int{1}}, {"split", Integers{6}}});
  net.output(net.add("Unsqueeze", {half}, {{"axes", Integers{0}}}));
  expect_upgraded(net, 11, {"Softmax", "Split", "Unsqueeze"});
}

TEST(HostOpset, RefusesASoftmaxOverSeveralAxes) {
  FloatNetwork net;
  net.output(net.add("Softmax", {net.picture({3, 6, 2})}, {{"axis", Int{1}}}));
  net.network.nodes[0].opset = 11;
  golden::fold_and_shape(net.network);
  try {
    at_opset_13(net.network);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_NE(std::string(error.what()).find("is over several axes, as before opset 13"),
              std::string::npos);
  }
}

TEST(HostOpset, RefusesAGraphInsideANode) {
  FloatNetwork net;
  net.output(net.add("Relu", {net.picture()}));
  net.network.nodes[0].opset = 11;
  net.network.nodes[0].attributes["body"] = HostBody{std::make_shared<const HostNetwork>()};
  try {
    at_opset_13(net.network);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("has a graph of an opset before 13"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace qsim::quantize
