// What a supported model becomes: shapes, layouts, quantizations, shifts, and every tensor's
// elements in their new places.
#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/compiler/refusal.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace compiler;
namespace {

using onnx::TensorProto;
using Shifts = std::vector<std::uint8_t>;

// The model's own bytes of a constant.
std::int8_t stored(TestModel& model, const std::string& name, std::size_t index) {
  return static_cast<std::int8_t>(model.constant(name).raw_data()[index]);
}

TEST(Importer, ReadsAWholeNetworkLayerByLayer) {
  TestModel model;
  const Graph graph = import_model(model);
  EXPECT_EQ(graph.name, "small");
  EXPECT_EQ(graph.input_value(), (Value{{1, 4, 4, 2}, DType::kUint8, 3, Scale::power_of_two(-4)}));
  EXPECT_EQ(graph.host.layout, HostInterface::Layout::kNchw);
  EXPECT_TRUE(graph.host.float_input);
  EXPECT_TRUE(graph.host.float_output);
  EXPECT_TRUE(graph.host.flat_output);
  ASSERT_EQ(graph.layers.size(), 4U);
  const char* names[] = {"conv", "pool", "flatten", "fc"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(graph.layers[i].name, names[i]);
  EXPECT_TRUE(graph.layers[3].source.ends_with("/model.onnx: node 'fc' (QGemm)"))
      << graph.layers[3].source;
  EXPECT_EQ(graph.output_of(0), (Value{{1, 4, 4, 3}, DType::kUint8, 5, Scale::power_of_two(-3)}));
  EXPECT_EQ(graph.output_of(1), (Value{{1, 2, 2, 3}, DType::kUint8, 5, Scale::power_of_two(-3)}));
  EXPECT_EQ(graph.output_of(2), (Value{{1, 1, 1, 12}, DType::kUint8, 5, Scale::power_of_two(-3)}));
  EXPECT_EQ(graph.output_of(3), (Value{{1, 1, 1, 5}, DType::kUint8, 7, Scale::power_of_two(-1)}));
  EXPECT_EQ(operation<Flatten>(graph, 2).order, Flatten::Order::kChw);
  EXPECT_EQ(operation<MaxPool>(graph, 1).window, (Window{2, 2, 2, 2, 0, 0, 0, 0}));
}

TEST(Importer, ConvolutionWeightsBecomeChannelsLast) {
  TestModel model;
  const Graph graph = import_model(model);
  const auto& conv = operation<Conv2d>(graph, 0);
  EXPECT_EQ(conv.window, (Window{3, 3, 1, 1, 1, 1, 1, 1}));
  ASSERT_EQ(conv.weights.shape, (Shape{3, 3, 3, 2}));
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t tap = 0; tap < 9; ++tap) {
        EXPECT_EQ(conv.weights.as<std::int8_t>()[(m * 9 + tap) * 2 + c],
                  stored(model, "w", (m * 2 + c) * 9 + tap));
      }
    }
  }
  const auto bias = conv.bias.as<std::int32_t>();
  EXPECT_EQ((std::vector<std::int32_t>{bias.begin(), bias.end()}),
            (std::vector<std::int32_t>{-150, -49, 52}));
  EXPECT_EQ(conv.requantization.shifts, (Shifts{6, 7, 8}));
  EXPECT_EQ(conv.requantization.rounding, RoundingMode::kHalfEven);
  EXPECT_EQ(conv.requantization.lo, 0);
  EXPECT_EQ(conv.requantization.hi, 255);
}

TEST(Importer, QGemmWeightsAreReadInBothOrders) {
  TestModel model;
  const Graph transposed = import_model(model);
  const auto& fc = operation<FullyConnected>(transposed, 3);
  ASSERT_EQ(fc.weights.shape, (Shape{5, 12}));
  EXPECT_EQ(fc.requantization.shifts, (Shifts{7}));
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(fc.weights.as<std::int8_t>()[i], stored(model, "fc_w", i));
  }
  model.set_int("fc", "transB", 0);
  model.constant("fc_w").set_dims(0, 12);
  model.constant("fc_w").set_dims(1, 5);
  const Graph straight = import_model(model);
  const auto& other = operation<FullyConnected>(straight, 3);
  ASSERT_EQ(other.weights.shape, (Shape{5, 12}));
  for (std::size_t n = 0; n < 5; ++n) {
    for (std::size_t k = 0; k < 12; ++k) {
      EXPECT_EQ(other.weights.as<std::int8_t>()[n * 12 + k], stored(model, "fc_w", k * 5 + n));
    }
  }
}

TEST(Importer, QLinearMatMulHasNoBiasAndAnyAmountOfScales) {
  TestModel model;
  onnx::NodeProto& node = model.node("fc");
  node.set_op_type("QLinearMatMul");
  node.clear_domain();
  node.mutable_input()->DeleteSubrange(6, 1);
  model.drop_attribute("fc", "transB");
  model.constant("fc_w").set_dims(0, 12);
  model.constant("fc_w").set_dims(1, 5);
  model.set_scale("fc_w_scale", {5}, {1.0F, 0.5F, 0.25F, 0.125F, 0.0625F});
  const Graph graph = import_model(model);
  const auto& fc = operation<FullyConnected>(graph, 3);
  EXPECT_EQ(fc.bias, Tensor(DType::kInt32, {5}));
  EXPECT_EQ(fc.requantization.shifts, (Shifts{2, 3, 4, 5, 6}));
  EXPECT_EQ(fc.weights.as<std::int8_t>()[1], stored(model, "fc_w", 5));
}

TEST(Importer, BiasIsOptional) {
  TestModel model;
  model.node("conv").mutable_input()->RemoveLast();
  model.node("fc").set_input(6, "");
  const Graph graph = import_model(model);
  EXPECT_EQ(operation<Conv2d>(graph, 0).bias, Tensor(DType::kInt32, {3}));
  EXPECT_EQ(operation<FullyConnected>(graph, 3).bias, Tensor(DType::kInt32, {5}));
}

TEST(Importer, ScalesMayBeScalarsOrListsOfOne) {
  TestModel model;
  model.set_scale("w_scale", {1}, {0.0625F});
  model.set_zero_point("w_zero_point", TensorProto::INT8, 0);
  model.set_scale("y_scale", {1}, {0.125F});
  model.set_constant("y_zero_point", TensorProto::UINT8, {1}, "\x05");
  EXPECT_EQ(operation<Conv2d>(import_model(model), 0).requantization.shifts, (Shifts{5}));
}

TEST(Importer, ExtremeShiftsAreAccepted) {
  TestModel model;
  model.set_scale("w_scale", {3}, {2.0F, 0x1p-30F, 1.0F});
  EXPECT_EQ(operation<Conv2d>(import_model(model), 0).requantization.shifts, (Shifts{0, 31, 1}));
}

TEST(Importer, TypedFieldsSayTheSameAsRawData) {
  TestModel raw;
  TestModel typed;
  for (const char* name : {"w", "fc_w", "y_zero_point"}) {
    TensorProto& tensor = typed.constant(name);
    for (const char byte : tensor.raw_data()) {
      tensor.add_int32_data(tensor.data_type() == TensorProto::UINT8
                                ? static_cast<unsigned char>(byte)
                                : static_cast<signed char>(byte));
    }
    tensor.clear_raw_data();
  }
  const Graph a = import_model(raw);
  const Graph b = import_model(typed);
  EXPECT_EQ(operation<Conv2d>(a, 0).weights, operation<Conv2d>(b, 0).weights);
  EXPECT_EQ(operation<FullyConnected>(a, 3).weights, operation<FullyConnected>(b, 3).weights);
  EXPECT_EQ(a.output_of(0), b.output_of(0));
}

TEST(Importer, ConstantNodesAndIdentitiesOfConstantsAreConstants) {
  TestModel model;
  onnx::NodeProto& constant = *model.graph().add_node();
  constant.set_op_type("Constant");
  constant.set_name("made");
  constant.add_output("scale");
  model.set_float("made", "value_float", 0.25F);
  onnx::NodeProto& identity = *model.graph().add_node();
  identity.set_op_type("Identity");
  identity.set_name("copy");
  identity.add_input("scale");
  identity.add_output("scale_copy");
  model.node("fc").set_input(7, "scale_copy");
  model.node("dequantize").set_input(1, "scale_copy");
  EXPECT_EQ(import_model(model).output_of(3).scale_exponent(), 2);
}

TEST(Importer, InitializersMayBeListedAmongTheInputs) {
  TestModel model;
  for (const TensorProto& tensor : model.graph().initializer()) {
    model.graph().add_input()->set_name(tensor.name());
  }
  EXPECT_EQ(import_error(model), ImportError{});
}

TEST(Importer, ASymbolicBatchBecomesTheOneAskedForAndAFixedOneStays) {
  TestModel model;
  const Graph symbolic = import_model(model, 7);
  EXPECT_EQ(symbolic.input_value().shape, (ImageShape{7, 4, 4, 2}));
  EXPECT_EQ(symbolic.output_of(3).shape, (ImageShape{7, 1, 1, 5}));
  auto& type = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(0)->set_dim_value(3);
  EXPECT_EQ(import_model(model).output_of(3).shape, (ImageShape{3, 1, 1, 5}));
}

TEST(Importer, EveryOpsetFromTenToTwentyOneIsRead) {
  for (int opset = 10; opset <= 21; ++opset) {
    TestModel model;
    model.proto.mutable_opset_import(0)->set_version(opset);
    if (opset < 12) {  // no 8-bit MaxPool yet
      model.node("pool").set_op_type("Identity");
      model.node("pool").clear_attribute();
      model.set_constant("fc_w", TensorProto::INT8, {5, 48}, std::string(240, 'a'));
    }
    EXPECT_EQ(import_error(model), ImportError{}) << opset;
  }
}

TEST(Importer, NodesWithoutANameAreCalledByOperatorAndIndex) {
  TestModel model;
  model.node("pool").clear_name();
  EXPECT_EQ(import_model(model).layers[1].name, "MaxPool_2");
}

// The compiler's refusals call a layer as the importer's do, and call it once.
TEST(Importer, WhatTheAcceleratorLacksIsRefusedByTheNameOfItsNode) {
  TestModel model;
  model.set_ints("pool", "strides", {5, 5});
  model.end_after("pool", TensorProto::UINT8, 4);
  const auto refused = [&] {
    const Graph graph = import_model(model);
    const std::string message =
        testing::refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
    return message.substr(message.find("/model.onnx") + 1);
  };
  EXPECT_EQ(refused(),
            "model.onnx: node 'pool' (MaxPool): vertical pooling stride is 5; the accelerator "
            "supports up to 4");
  model.node("pool").clear_name();
  EXPECT_EQ(refused(),
            "model.onnx: node 2 (MaxPool): vertical pooling stride is 5; the accelerator supports "
            "up to 4");
}

TEST(Importer, ABatchBelowOneIsRefused) {
  EXPECT_EQ(import_error(TestModel(), 0),
            (ImportError{ExitCode::kBadInput, "batch 0; expected 1 or more"}));
}

}  // namespace
}  // namespace qsim
