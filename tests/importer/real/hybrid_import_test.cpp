// Float files with integers: weights behind a DequantizeLinear, dynamic quantization, roundings.
// What they become, and what is refused.
#include <gtest/gtest.h>

#include "formats/onnx/importer/real_importer.h"
#include "tests/importer/real/real_model.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

HybridNetwork import_hybrid(const TestModel& model) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  return import_hybrid_onnx(std::make_shared<const HeldFile>(folder / "model.onnx"));
}

ImportError hybrid_error(const TestModel& model) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  try {
    import_hybrid_onnx(std::make_shared<const HeldFile>(folder / "model.onnx"));
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string prefix = (folder / "model.onnx").string() + ": ";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return {error.code(), message};
  }
  return {};
}

onnx::NodeProto& add(TestModel& model, const std::string& op_type, const std::string& name,
                     const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *model.graph().add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

std::string levels(int count, int step = 5) {
  std::string raw;
  for (int i = 0; i < count; ++i) raw += static_cast<char>(i * step % 200 - 100);
  return raw;
}

// RealModel with int8 weights of "conv", a scale a channel, and without its batch norm.
class IntegerModel : public RealModel {
 public:
  IntegerModel() {
    set_constant("w8", TensorProto::INT8, {3, 2, 3, 3}, levels(54));
    set_scale("w_scale", {3}, {0.5F, 0.25F, 2.0F});
    add(*this, "DequantizeLinear", "real", {"w8", "w_scale"}, {"w_real"});
    set_int("real", "axis", 0);
    node("conv").set_input(1, "w_real");
    node("relu").set_input(0, "conv.out");
    node("norm").set_output(0, "nowhere");
  }
};

// RealModel whose "conv" finds the range of what it reads.
class DynamicModel : public RealModel {
 public:
  DynamicModel() {
    set_constant("w8", TensorProto::INT8, {3, 2, 3, 3}, levels(54));
    set_scale("w_scale", {1, 3, 1, 1}, {0.5F, 0.25F, 2.0F});
    set_scale("bias", {1, 3, 1, 1}, {1, 2, 3});
    add(*this, "DynamicQuantizeLinear", "quantize", {"image"}, {"q", "q_scale", "q_zero"});
    node("conv").set_op_type("ConvInteger");
    node("conv").set_input(0, "q");
    node("conv").set_input(1, "w8");
    node("conv").set_input(2, "q_zero");
    add(*this, "Cast", "cast", {"conv.out"}, {"cast.out"});
    set_int("cast", "to", TensorProto::FLOAT);
    add(*this, "Mul", "scales", {"q_scale", "w_scale"}, {"scales.out"});
    add(*this, "Mul", "scaled", {"cast.out", "scales.out"}, {"scaled.out"});
    add(*this, "Add", "biased", {"scaled.out", "bias"}, {"biased.out"});
    node("relu").set_input(0, "biased.out");
    node("norm").set_output(0, "nowhere");
    node("norm").set_input(0, "image");
  }
};

// The same with a constant scale and 4 bits.
class StaticModel : public DynamicModel {
 public:
  StaticModel() {
    node("quantize").set_op_type("QuantizeLinear");
    node("quantize").clear_output();
    node("quantize").add_output("q");
    node("quantize").add_input("q_scale");
    node("quantize").add_input("q_zero");
    set_scale("q_scale", {}, {0.125F});
    set_zero_point("q_zero", TensorProto::UINT8, 130);
    set_zero_point("lo", TensorProto::UINT8, 120);
    set_zero_point("hi", TensorProto::UINT8, 135);
    onnx::NodeProto& clip = insert_before("conv", "Clip", "clip");
    clip.add_input("lo");
    clip.add_input("hi");
  }
};

UniformRule rule_of_conv(const HybridNetwork& network) {
  return std::get<UniformRule>(*network.weights.at(0).input);
}

template <typename Model>
struct Fault {
  ExitCode code;
  std::string expected;
  std::function<void(Model&)> apply;
};

template <typename Model>
void expect_errors(const std::vector<Fault<Model>>& faults) {
  for (const Fault<Model>& fault : faults) {
    Model model;
    fault.apply(model);
    EXPECT_EQ(hybrid_error(model), (ImportError{fault.code, fault.expected}));
  }
}

constexpr auto kBad = ExitCode::kBadInput;
constexpr auto kRefused = ExitCode::kUnsupportedModel;

TEST(HybridImport, WeightsAreIntegersAndWhatTheyStandFor) {
  const HybridNetwork network = import_hybrid(IntegerModel());
  EXPECT_EQ(mode_of(network), HybridMode::kWeightOnly);
  ASSERT_EQ(network.weights.size(), 1U);
  const auto& weights = std::get<IntegerWeights>(network.weights.at(0).weights);
  EXPECT_EQ(weights.scales, (std::vector<float>{0.5F, 0.25F, 2.0F}));
  // [M][C][kh][kw] 1, 1, 0, 2 is number 18 + 9 + 2; [M][kh][kw][C] 1, 0, 2, 1 is 18 + 4 + 1.
  EXPECT_EQ(weights.levels.as<std::int8_t>()[23], 29 * 5 % 200 - 100);
  const auto& conv = std::get<Conv2d>(network.graph.layers[0].operation);
  EXPECT_EQ(conv.weights.as<float>()[23], 0.25F * (29 * 5 % 200 - 100));
  EXPECT_EQ(conv.weights, dequantized(network.weights.at(0)));
}

TEST(HybridImport, AFactorByChannelGoesIntoTheScales) {
  IntegerModel model;
  model.set_reals("factor", {3, 1, 1}, {3, 0.5F, 1});
  model.insert_binary("relu", "Mul", "times", "factor");
  const HybridNetwork network = import_hybrid(model);
  EXPECT_EQ(std::get<IntegerWeights>(network.weights.at(0).weights).scales,
            (std::vector<float>{1.5F, 0.125F, 2.0F}));
}

TEST(HybridImport, PowersOfTwoAreSignsAndExponents) {
  IntegerModel model;
  std::string raw;
  for (int i = 0; i < 54; ++i)
    raw += static_cast<char>(i % 3 == 0 ? 0 : (1 << (i % 7)) * (i % 2 ? 1 : -1));
  model.set_constant("w8", TensorProto::INT8, {3, 2, 3, 3}, raw);
  const HybridNetwork network = import_hybrid(model);
  const auto& weights = std::get<Log2Weights>(network.weights.at(0).weights);
  EXPECT_EQ(weights.lo, 0);
  EXPECT_EQ(weights.hi, 6);
}

TEST(HybridImport, DynamicLayersFindTheRangeOfWhatTheyRead) {
  const HybridNetwork network = import_hybrid(DynamicModel());
  EXPECT_EQ(mode_of(network), HybridMode::kDynamic);
  ASSERT_EQ(network.weights.size(), 1U);
  const Layer& layer = network.graph.layers[0];
  EXPECT_EQ(layer.name, "conv");
  EXPECT_EQ(std::get<Conv2d>(layer.operation).bias.as<float>()[2], 3.0F);
  EXPECT_EQ(std::get<Conv2d>(layer.operation).window.pad_left, 1);
  const auto& rule = std::get<DynamicRule>(*network.weights.at(0).input);
  EXPECT_TRUE(rule.per_picture);
  EXPECT_FALSE(rule.symmetric);
  EXPECT_EQ(std::get<IntegerWeights>(network.weights.at(0).weights).scales,
            (std::vector<float>{0.5F, 0.25F, 2.0F}));
}

TEST(HybridImport, IntegerLayersQuantizeWhatTheyReadByAConstantScale) {
  StaticModel model;
  const HybridNetwork network = import_hybrid(model);
  EXPECT_EQ(mode_of(network), HybridMode::kIntegerLayers);
  EXPECT_EQ(mode_name(mode_of(network)), "integer layers");
  ASSERT_EQ(network.weights.size(), 1U);
  EXPECT_EQ(network.graph.layers[0].name, "conv");
  const UniformRule rule = rule_of_conv(network);
  EXPECT_EQ(rule.scale, 0.125F);
  EXPECT_EQ(rule.zero_point, 130);
  EXPECT_EQ(rule.lo, 120);
  EXPECT_EQ(rule.hi, 135);
  EXPECT_EQ(std::get<IntegerWeights>(network.weights.at(0).weights).scales,
            (std::vector<float>{0.5F, 0.25F, 2.0F}));
}

TEST(HybridImport, IntegerLayersHaveAllLevelsOfTheirType) {
  StaticModel model;
  model.node("clip").set_input(1, "");
  EXPECT_EQ(rule_of_conv(import_hybrid(model)).lo, 0);
  EXPECT_EQ(rule_of_conv(import_hybrid(model)).hi, 135);
  model.node("conv").set_input(0, "q");
  EXPECT_EQ(rule_of_conv(import_hybrid(model)).hi, 255);
  model.set_zero_point("q_zero", TensorProto::INT8, -3);
  const UniformRule rule = rule_of_conv(import_hybrid(model));
  EXPECT_EQ(rule.zero_point, -3);
  EXPECT_EQ(rule.lo, -128);
  EXPECT_EQ(rule.hi, 127);
  model.node("quantize").mutable_input()->RemoveLast();
  model.node("conv").mutable_input()->RemoveLast();
  EXPECT_EQ(rule_of_conv(import_hybrid(model)).zero_point, 0);
  EXPECT_EQ(rule_of_conv(import_hybrid(model)).hi, 255);
}

TEST(HybridImport, TheAcceleratorRefusesIntegerLayersByName) {
  const StaticModel model;
  EXPECT_EQ(import_error(model),
            (ImportError{kRefused,
                         "node 'conv' (ConvInteger): sums of integers that become float32 numbers: "
                         "the accelerator computes no float32; run it by `qsim golden run`, or "
                         "export a QuantizedSequential"}));
}

TEST(HybridImport, RefusesOtherNodesOfIntegerLayers) {
  const std::string pattern =
      "node 'conv' (ConvInteger): integers among other nodes; supported: DynamicQuantizeLinear or "
      "QuantizeLinear before it, and after it Cast to float and Mul by the scales of input and "
      "weights";
  expect_errors<StaticModel>({
      {kRefused, pattern, [](StaticModel& m) { m.node("conv").set_input(2, "lo"); }},
      {kRefused, pattern, [](StaticModel& m) { m.node("conv").mutable_input()->RemoveLast(); }},
      {kRefused, pattern, [](StaticModel& m) { m.node("clip").set_op_type("Relu"); }},
      {kRefused, pattern, [](StaticModel& m) { m.node("clip").set_input(0, "conv.out"); }},
      {kRefused, pattern,
       [](StaticModel& m) {
         m.set_scale("other", {}, {0.125F});
         m.node("scales").set_input(0, "other");
       }},
      {kRefused, "node 'quantize' (QuantizeLinear): y_scale has shape [2]; supported: [], [1]",
       [](StaticModel& m) {
         m.set_scale("q_scale", {2}, {1, 1});
       }},
      {kRefused, "node 'clip' (Clip): min is int8 []; supported: one number of uint8",
       [](StaticModel& m) { m.set_zero_point("lo", TensorProto::INT8, 3); }},
      {kBad, "node 'clip' (Clip): clip range 136..135; expected lo at most hi",
       [](StaticModel& m) { m.set_zero_point("lo", TensorProto::UINT8, 136); }},
  });
}

TEST(HybridImport, RefusesIntegersThatNoLayerTakes) {
  expect_errors<IntegerModel>({
      {kRefused,
       "node 'conv' (Conv): its integer weights of channel 2 are multiplied by -0.500000; "
       "supported: numbers above 0",
       [](IntegerModel& m) {
         m.set_reals("factor", {3, 1, 1}, {3, 0.5F, -0.5F});
         m.insert_binary("relu", "Mul", "times", "factor");
       }},
      {kRefused,
       "node 'real' (DequantizeLinear): weights are float32; supported: int8, uint8 or int32",
       [](IntegerModel& m) {
         m.set_numbers("w8", {3, 2, 3, 3});
       }},
      {kRefused,
       "node 'real' (DequantizeLinear): weight 0 is the integer 1000000; supported: integers of 16 "
       "bits",
       [](IntegerModel& m) {
         std::string raw(216, '\0');
         const std::int32_t large = 1000000;
         raw.replace(0, 4, reinterpret_cast<const char*>(&large), 4);
         m.set_constant("w8", TensorProto::INT32, {3, 2, 3, 3}, raw);
       }},
      {kBad,
       "node 'real' (DequantizeLinear): a scale of weights is 0.000000; expected finite numbers "
       "above 0",
       [](IntegerModel& m) {
         m.set_scale("w_scale", {3}, {1, 0, 1});
       }},
      {kBad,
       "node 'real' (DequantizeLinear): 2 scales along axis 0 of [3, 2, 3, 3]; expected one scale, "
       "or one for each index of the axis",
       [](IntegerModel& m) {
         m.set_scale("w_scale", {2}, {1, 1});
       }},
      {kRefused,
       "node 'conv' (Conv): weights with 2 scales along axis 1; supported: one scale, or one for "
       "each output channel",
       [](IntegerModel& m) {
         m.set_scale("w_scale", {2}, {1, 1});
         m.set_int("real", "axis", 1);
       }},
      {kBad,
       "node 'real' (DequantizeLinear): zero_point is uint8 []; expected int8, one for each of 3 "
       "scales",
       [](IntegerModel& m) {
         m.set_zero_point("zero", TensorProto::UINT8, 3);
         m.node("real").add_input("zero");
       }},
      {kBad, "integer weights of -1000..40; expected at most 255 from 0, or powers of two alone",
       [](IntegerModel& m) {
         std::vector<std::int32_t> wide(54, 40);
         wide[1] = -1000;
         m.set_constant("w8", TensorProto::INT32, {3, 2, 3, 3},
                        std::string_view(reinterpret_cast<const char*>(wide.data()), 216));
       }},
      {kBad, "integer weights of -1000..40 with zero_points 3..3; expected what 8 bits hold",
       [](IntegerModel& m) {
         std::vector<std::int32_t> wide(54, 40);
         wide[1] = -1000;
         m.set_constant("w8", TensorProto::INT32, {3, 2, 3, 3},
                        std::string_view(reinterpret_cast<const char*>(wide.data()), 216));
         const std::int32_t three = 3;
         m.set_constant("zero", TensorProto::INT32, {},
                        std::string_view(reinterpret_cast<const char*>(&three), 4));
         m.node("real").add_input("zero");
       }},
      {kRefused,
       "node 'late' (DequantizeLinear): dequantizes what the graph computes; supported: integer "
       "constants",
       [](IntegerModel& m) { m.insert_binary("pool", "DequantizeLinear", "late", "w_scale"); }},
  });
}

TEST(HybridImport, RefusesOtherNodesOfDynamicQuantization) {
  const std::string pattern =
      "node 'conv' (ConvInteger): integers among other nodes; supported: DynamicQuantizeLinear or "
      "QuantizeLinear before it, and after it Cast to float and Mul by the scales of input and "
      "weights";
  expect_errors<DynamicModel>({
      {kRefused, pattern, [](DynamicModel& m) { m.node("conv").set_input(0, "q_scale"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("conv").set_input(0, "w8"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.insert_before("conv", "Clip", "clip"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("cast").set_op_type("Relu"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("scaled").set_op_type("Add"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("scales").set_op_type("Add"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("conv").set_input(2, "w_zero"); }},
      {kRefused, pattern, [](DynamicModel& m) { m.node("scaled").set_input(1, "cast.out"); }},
      {kRefused,
       "node 'conv' (ConvInteger): scales of the weights of shape [3]; supported: one, or one for "
       "each output channel",
       [](DynamicModel& m) {
         m.set_scale("w_scale", {3}, {1, 1, 1});
       }},
  });
}

TEST(HybridImport, RoundingsAreRulesOfTheirTensors) {
  RealModel model;
  model.proto.add_opset_import()->set_domain("qsim");
  model.proto.mutable_opset_import(1)->set_version(1);
  model.insert_before("pool", "RoundLog2", "round").set_domain("qsim");
  model.set_float("round", "scale", 0.5F);
  model.set_int("round", "lo", -6);
  model.set_int("round", "hi", 0);
  const HybridNetwork network = import_hybrid(model);
  EXPECT_EQ(mode_of(network), HybridMode::kFake);
  int rules = 0;
  for (const Layer& layer : network.graph.layers) {
    if (!network.rules[layer.output]) continue;
    ++rules;
    EXPECT_EQ(layer.name, "relu");
    EXPECT_EQ(std::get<Log2Rule>(*network.rules[layer.output]).lo, -6);
  }
  EXPECT_EQ(rules, 1);
  RealModel twice = model;
  add(twice, "Relu", "other", {"relu.out"}, {"other.out"});
  add(twice, "Concat", "both", {"round.out", "other.out"}, {"both.out"});
  twice.set_int("both", "axis", 1);
  twice.node("pool").set_input(0, "both.out");
  EXPECT_EQ(hybrid_error(twice),
            (ImportError{kRefused,
                         "node 'round' (RoundLog2): rounds a tensor that is also read as it is; "
                         "supported: a tensor that it alone reads"}));
  model.set_int("round", "hi", 5000000);
  EXPECT_EQ(hybrid_error(model),
            (ImportError{kBad,
                         "node 'round' (RoundLog2): hi = 5000000; expected at most 4194303 "
                         "from 0"}));
}

TEST(HybridImport, ABatchNormAfterARoundingStaysALayer) {
  RealModel model;
  model.proto.add_opset_import()->set_domain("qsim");
  model.proto.mutable_opset_import(1)->set_version(1);
  model.insert_before("norm", "RoundLog2", "round").set_domain("qsim");
  const HybridNetwork network = import_hybrid(model);
  EXPECT_EQ(network.graph.layers[0].name, "conv");
  EXPECT_EQ(network.graph.layers[1].name, "norm");
  ASSERT_EQ(network.rules.size(), network.graph.tensors.size());
  EXPECT_TRUE(network.rules[network.graph.layers[0].output]);
}

}  // namespace
}  // namespace qsim
