// Tables, clamps and pads that the importer makes of float operators, by numbers from the
// definition.
#include <gtest/gtest.h>

#include "core/network/float_rules.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/float_island.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

const Layer* find_layer(const Graph& graph, const std::string& name) {
  for (const Layer& layer : graph.layers) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

TEST(FloatRules, RoundHalfToEvenAndSaturate) {
  const Value to{{}, DType::kUint8, 10, Scale::power_of_two(1)};
  EXPECT_EQ(quantized(1.0F, to), 10);   // 0.5
  EXPECT_EQ(quantized(3.0F, to), 12);   // 1.5
  EXPECT_EQ(quantized(-1.0F, to), 10);  // -0.5
  EXPECT_EQ(quantized(-3.0F, to), 8);
  EXPECT_EQ(quantized(1e30F, to), 255);
  EXPECT_EQ(quantized(-1e30F, to), 0);
  EXPECT_EQ(quantized(std::numeric_limits<float>::infinity(), to), 255);
  EXPECT_EQ(quantized(std::numeric_limits<float>::quiet_NaN(), to), 10);
}

TEST(FloatRules, SigmoidIsOneHalfAtZeroAndSaturates) {
  EXPECT_EQ(sigmoid(0.0F), 0.5F);
  EXPECT_EQ(sigmoid(100.0F), 1.0F);
  EXPECT_EQ(sigmoid(-100.0F), sigmoid(-18.0F));
  EXPECT_NEAR(sigmoid(1.0F), 0.7310585786, 1e-7);
}

TEST(Tables, AnActivationIsATableOfItsBytes) {
  TestModel model;
  island(model, "HardSigmoid");
  model.set_float("op", "alpha", 0.25F);
  const Graph graph = import_model(model);
  const Layer* layer = find_layer(graph, "op");
  ASSERT_NE(layer, nullptr);
  const auto& table = std::get<LookupTable>(layer->operation);
  EXPECT_EQ(table.function, "hard_sigmoid");
  // y_scale 1/8, zero_point 5: level 9 is 0.5, 0.25 * 0.5 + 0.5 = 0.625 is 5 levels.
  EXPECT_EQ(table.bytes[9], 10);
  EXPECT_EQ(table.bytes[5], 9);     // 0.5
  EXPECT_EQ(table.bytes[255], 13);  // 1
}

// y's zero_point 5 is not the smallest level, so the ReLU is a clamp that must be seen.
TEST(Tables, AReluAfterALayerIsItsClamp) {
  TestModel model;
  onnx::NodeProto& pool = island(model, "GlobalAveragePool");
  ASSERT_EQ(pool.name(), "op");
  model.insert_before("again", "Relu", "relu");
  model.set_constant("fc_w", TensorProto::INT8, {5, 3}, std::string(15, 'a'));
  model.set_ints("pool", "kernel_shape", {1, 1});
  const Graph graph = import_model(model);
  const Layer* layer = find_layer(graph, "op");
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(std::get<AveragePool>(layer->operation).lo, 5);
  EXPECT_EQ(std::get<AveragePool>(layer->operation).hi, 255);
  EXPECT_EQ(find_layer(graph, "relu"), nullptr);
}

// DequantizeLinear -> Clip -> QuantizeLinear of conv's own scale: levels 5 to 13 are 0 to 1.
void add_clip(TestModel& model) {
  island(model, "Clip").add_input("low");
  model.node("op").add_input("high");
  model.set_scale("low", {}, {0.0F});
  model.set_scale("high", {}, {1.0F});
}

TEST(Tables, AClipOfTheOnlyReaderIsTheClampOfTheLayer) {
  TestModel model;
  add_clip(model);
  const Graph graph = import_model(model);
  const auto& conv = std::get<Conv2d>(find_layer(graph, "conv")->operation);
  EXPECT_EQ(conv.requantization.lo, 5);
  EXPECT_EQ(conv.requantization.hi, 13);
  EXPECT_EQ(find_layer(graph, "op"), nullptr);
}

TEST(Tables, AClipBesideAnotherReaderStaysATable) {
  TestModel model;
  add_clip(model);
  append(model, "DequantizeLinear", "one", {"again.out", "y_scale", "y_zero_point"});
  append(model, "DequantizeLinear", "two", {"conv.out", "y_scale", "y_zero_point"});
  add_sum(model, "one.out", "two.out");
  const Graph graph = import_model(model);
  EXPECT_EQ(std::get<Conv2d>(find_layer(graph, "conv")->operation).requantization.hi, 255);
  ASSERT_NE(find_layer(graph, "op"), nullptr);
  const auto& table = std::get<LookupTable>(find_layer(graph, "op")->operation);
  EXPECT_EQ(table.bytes[4], 5);
  EXPECT_EQ(table.bytes[12], 12);
  EXPECT_EQ(table.bytes[200], 13);
  EXPECT_EQ(graph.layers[2].inputs.size() + graph.layers[1].inputs.size(), 3U);
}

const Operation& prelu_of(const Graph& graph) { return find_layer(graph, "op")->operation; }

TEST(PReluImport, EqualSlopesAreATable) {
  TestModel model;
  island(model, "PRelu").add_input("slope");
  model.set_scale("slope", {3, 1, 1}, {0.5F, 0.5F, 0.5F});
  const auto& table = std::get<LookupTable>(prelu_of(import_model(model)));
  EXPECT_EQ(table.function, "prelu");
  // y_scale 1/8, zero_point 5: level 1 is -0.5, which becomes -0.25, two levels.
  EXPECT_EQ(table.bytes[1], 3);
  EXPECT_EQ(table.bytes[9], 9);
}

TEST(PReluImport, OneSlopeAChannelIsALayerOfFloatsOrOfDequantizedLevels) {
  const Tensor slopes = make_tensor<float>({3}, std::vector<float>{0.5F, 0.25F, -1.0F});
  TestModel floats;
  island(floats, "PRelu").add_input("slope");
  floats.set_scale("slope", {1, 3, 1, 1}, {0.5F, 0.25F, -1.0F});
  EXPECT_EQ(std::get<PRelu>(prelu_of(import_model(floats))).slopes, slopes);
  for (const bool by_channel : {false, true}) {
    TestModel levels;
    island(levels, "PRelu").add_input("slopes.out");
    append(levels, "DequantizeLinear", "slopes", {"q", "q_scale"});
    if (by_channel) {
      levels.set_constant("q", TensorProto::INT8, {3, 1, 1}, "\x02\x01\xfe");
      levels.set_scale("q_scale", {3}, {0.25F, 0.25F, 0.5F});
      levels.set_int("slopes", "axis", 0);
    } else {
      levels.set_constant("q", TensorProto::INT8, {3, 1, 1}, "\x02\x01\xfc");
      levels.set_scale("q_scale", {}, {0.25F});
    }
    EXPECT_EQ(std::get<PRelu>(prelu_of(import_model(levels))).slopes, slopes);
  }
}

TEST(Rounding, AnOptionSetsIt) {
  TestModel model;
  const TestFolder folder;
  model.save(folder / "model.onnx");
  ImportOptions options;
  options.rounding = RequantizerRounding::kHalfUp;
  const Graph chain = import_onnx(folder / "model.onnx", options);
  const auto& conv = std::get<Conv2d>(chain.layers[0].operation).requantization;
  ASSERT_EQ(conv.requantizers.size(), 3U);
  EXPECT_EQ(conv.requantizers[0].rounding, RequantizerRounding::kHalfUp);
  EXPECT_EQ(conv.shifts.size(), 0U);
  // Without it: shifts, as the scales are powers of two.
  EXPECT_EQ(std::get<Conv2d>(import_model(model).layers[0].operation).requantization.shifts,
            (std::vector<std::uint8_t>{6, 7, 8}));
  // And float32 where one is not.
  model.set_scale("fc_w_scale", {}, {0.3F});
  const Graph graph = import_model(model);
  const auto& first = std::get<Conv2d>(graph.layers[0].operation).requantization;
  ASSERT_EQ(first.requantizers.size(), 3U);
  EXPECT_EQ(first.requantizers[0].rounding, RequantizerRounding::kFloat32);
}

// TensorFlow Lite divides in double. Its FullyConnected with one scale multiplies in float32.
TEST(Rounding, TensorFlowLitesScalesAreDoubles) {
  TestModel model;
  const TestFolder folder;
  const float x = 0.1F;
  const float y = 0.7F;
  model.set_scale("x_scale", {}, {x});
  model.set_scale("y_scale", {}, {y});
  model.set_scale("w_scale", {3}, {0.3F, 0.003F, 0.0007F});
  model.set_scale("fc_w_scale", {}, {0.3F});
  model.save(folder / "model.onnx");
  ImportOptions options;
  options.rounding = RequantizerRounding::kTflite;
  const Graph graph = import_onnx(folder / "model.onnx", options);
  const auto& conv = std::get<Conv2d>(graph.layers[0].operation).requantization;
  ASSERT_EQ(conv.requantizers.size(), 3U);
  EXPECT_EQ(conv.requantizers[0],
            tflite_requantizer(double{x} * double{0.3F} / double{y}, options.rounding.value()));
  // The products differ in float32 and double, else the test says nothing.
  EXPECT_NE(double{x} * double{0.3F}, double{x * 0.3F});
  EXPECT_NE(double{y} * double{0.3F}, double{y * 0.3F});
  const auto& fc = std::get<FullyConnected>(graph.layers.back().operation).requantization;
  ASSERT_EQ(fc.requantizers.size(), 1U);
  EXPECT_EQ(fc.requantizers[0],
            tflite_requantizer(double{y * 0.3F} / 0.5, options.rounding.value()));
}

}  // namespace
}  // namespace qsim
