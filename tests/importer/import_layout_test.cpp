// How windows, layouts and the ends of a model are read: padding modes, transposes, flattening, and
// inputs of bytes.
#include <gtest/gtest.h>

#include "tests/importer/model_builder.h"

namespace qsim {
namespace {

using onnx::TensorProto;

TEST(Importer, AutoPadIsResolved) {
  struct Case {
    const char* mode;
    std::int64_t kernel;
    std::int64_t stride;
    Window window;
    std::int64_t out;
  };
  const Case cases[] = {
      {"VALID", 3, 1, {3, 3, 1, 1, 0, 0, 0, 0}, 2},
      {"SAME_UPPER", 3, 2, {3, 3, 2, 2, 0, 0, 1, 1}, 2},
      {"SAME_LOWER", 3, 2, {3, 3, 2, 2, 1, 1, 0, 0}, 2},
      {"SAME_UPPER", 2, 1, {2, 2, 1, 1, 0, 0, 1, 1}, 4},
      {"SAME_LOWER", 2, 1, {2, 2, 1, 1, 1, 1, 0, 0}, 4},
      {"SAME_UPPER", 1, 3, {1, 1, 3, 3, 0, 0, 0, 0}, 2},
      {"NOTSET", 2, 2, {2, 2, 2, 2, 0, 0, 0, 0}, 2},
  };
  for (const Case& c : cases) {
    TestModel model;
    model.set_ints("pool", "kernel_shape", {c.kernel, c.kernel});
    model.set_ints("pool", "strides", {c.stride, c.stride});
    model.set_text("pool", "auto_pad", c.mode);
    model.end_after("pool", TensorProto::UINT8, 4);
    const Graph graph = import_model(model);
    EXPECT_EQ(operation<MaxPool>(graph, 1).window, c.window) << c.mode << c.kernel;
    EXPECT_EQ(graph.output_of(1).shape, (ImageShape{1, c.out, c.out, 3})) << c.mode;
    EXPECT_FALSE(graph.host.flat_output);
    EXPECT_FALSE(graph.host.float_output);
  }
}

TEST(Importer, CeilModeAddsAWindowThatStartsInside) {
  TestModel model;
  model.set_ints("pool", "kernel_shape", {3, 3});
  model.set_int("pool", "ceil_mode", 1);
  model.end_after("pool", TensorProto::UINT8, 4);
  EXPECT_EQ(import_model(model).output_of(1).shape, (ImageShape{1, 2, 2, 3}));
}

TEST(Importer, AnInputOfBytesTakesTheQuantizationOfItsFirstConsumer) {
  TestModel model;
  model.begin_with(TensorProto::UINT8, {1, 2, 4, 4});
  model.insert_before("conv", "MaxPool", "early");
  model.set_ints("early", "kernel_shape", {1, 1});
  const Graph graph = import_model(model);
  EXPECT_FALSE(graph.host.float_input);
  EXPECT_EQ(graph.input_value(), (Value{{1, 4, 4, 2}, DType::kUint8, 3, Scale::power_of_two(-4)}));
  EXPECT_EQ(graph.output_of(0), graph.input_value());
}

TEST(Importer, QuantizeLinearWithoutZeroPointMakesUint8) {
  TestModel model;
  model.node("quantize").mutable_input()->RemoveLast();
  model.set_zero_point("x_zero_point", TensorProto::UINT8, 0);
  EXPECT_EQ(import_model(model).input_value(),
            (Value{{1, 4, 4, 2}, DType::kUint8, 0, Scale::power_of_two(-4)}));
}

TEST(Importer, ReluOfInt8AtZeroPointZeroIsALayer) {
  TestModel model;
  model.proto.mutable_opset_import(0)->set_version(14);
  model.set_zero_point("y_zero_point", TensorProto::INT8, 0);
  model.insert_before("pool", "Relu", "relu");
  const Graph graph = import_model(model);
  EXPECT_EQ(operation_name(graph.layers[1].operation), "relu");
  EXPECT_EQ(operation<Conv2d>(graph, 0).requantization.lo, -128);
}

TEST(Importer, ATransposedInputIsChannelsLast) {
  TestModel model;
  auto& type = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(1)->set_dim_value(5);
  type.mutable_shape()->mutable_dim(3)->set_dim_value(2);
  model.set_ints("pool", "pads", {0, 0, 0, 0});
  model.insert_before("quantize", "Transpose", "turn");
  model.set_ints("turn", "perm", {0, 3, 1, 2});
  const Graph graph = import_model(model);
  EXPECT_EQ(graph.host.layout, HostInterface::Layout::kNhwc);
  EXPECT_EQ(graph.input_value().shape, (ImageShape{1, 5, 4, 2}));
}

TEST(Importer, FlattenBehindATransposeIsInChannelsLastOrder) {
  TestModel model;
  model.insert_before("flatten", "Transpose", "turn");
  model.set_ints("turn", "perm", {0, 2, 3, 1});
  EXPECT_EQ(operation<Flatten>(import_model(model), 2).order, Flatten::Order::kHwc);
}

TEST(Importer, ReshapeToTwoDimensionsFlattens) {
  using Target = std::vector<std::int64_t>;
  for (const Target& target : {Target{1, -1}, {0, -1}, {-1, 12}, {0, 12}, {1, 12}}) {
    TestModel model;
    model.node("flatten").set_op_type("Reshape");
    model.node("flatten").add_input("target");
    model.set_constant("target", TensorProto::INT64, {2},
                       {reinterpret_cast<const char*>(target.data()), 16});
    EXPECT_EQ(import_model(model).output_of(2).shape, (ImageShape{1, 1, 1, 12}));
  }
}

// "flatten" becomes a Reshape to `target`, and "fc" a QLinearConv of one tap with its weights.
void reshape_to_one_pixel(TestModel& model, std::initializer_list<std::int64_t> target) {
  const std::vector<std::int64_t> values(target);
  model.node("flatten").set_op_type("Reshape");
  model.node("flatten").add_input("target");
  model.set_constant("target", onnx::TensorProto::INT64, {4},
                     {reinterpret_cast<const char*>(values.data()), 32});
  onnx::NodeProto& fc = model.node("fc");
  fc.set_op_type("QLinearConv");
  fc.clear_domain();
  fc.clear_attribute();
  // QGemm's bias comes before the output's scale, QLinearConv's last.
  const std::string bias = fc.input(6), scale = fc.input(7), zero_point = fc.input(8);
  fc.set_input(6, scale);
  fc.set_input(7, zero_point);
  fc.set_input(8, bias);
  model.constant("fc_w").add_dims(1);
  model.constant("fc_w").add_dims(1);
}

TEST(Importer, ReshapeToOnePixelLetsConvolutionsOfOneTapFollow) {
  const Graph with_gemm = import_model(TestModel());
  const auto& fc = std::get<FullyConnected>(with_gemm.layers[3].operation);
  for (const auto& target : {std::initializer_list<std::int64_t>{0, -1, 1, 1}, {1, 12, 1, 1}}) {
    TestModel model;
    reshape_to_one_pixel(model, target);
    model.end_after("fc", onnx::TensorProto::UINT8, 4);
    const Graph graph = import_model(model);
    EXPECT_EQ(std::get<Flatten>(graph.layers[2].operation).order, Flatten::Order::kChw);
    EXPECT_EQ(graph.output_of(2).shape, (ImageShape{1, 1, 1, 12}));
    const auto& conv = std::get<Conv2d>(graph.layers[3].operation);
    EXPECT_EQ(conv.weights.shape, (Shape{5, 1, 1, 12}));
    EXPECT_EQ(conv.weights.bytes, fc.weights.bytes);
    EXPECT_EQ(conv.bias, fc.bias);
  }
}

TEST(Importer, ReshapeOfOnePixelToOnePixelIsNoLayer) {
  TestModel model;
  reshape_to_one_pixel(model, {0, 0, 1, 1});
  model.set_ints("pool", "kernel_shape", {4, 4});  // leaves one pixel of three channels
  model.set_constant("fc_w", onnx::TensorProto::INT8, {5, 3, 1, 1}, std::string(15, 'a'));
  model.end_after("fc", onnx::TensorProto::UINT8, 4);
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.layers.size(), 3u);
  EXPECT_EQ(std::get<Conv2d>(graph.layers[2].operation).weights.shape, (Shape{5, 1, 1, 3}));
}

}  // namespace
}  // namespace qsim
