// What each operator of a float model becomes.
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "tests/importer/real/real_model.h"

namespace qsim {
namespace {

using Kind = Activation::Kind;
using onnx::TensorProto;

const Layer& layer(const Graph& graph, const std::string& name) {
  for (const Layer& each : graph.layers) {
    if (each.name == name) return each;
  }
  throw InternalError("no layer " + name);
}

template <typename Operation>
const Operation& operation(const Graph& graph, const std::string& name) {
  return std::get<Operation>(layer(graph, name).operation);
}

ImageShape output_of(const Graph& graph, const std::string& name) {
  return graph.tensors[layer(graph, name).output].shape;
}

// The function of a node that is put before the pool.
Activation function_of(RealModel& model) { return operation<Activation>(import_real(model), "f"); }

TEST(FloatImport, ReadsAChain) {
  const Graph graph = import_real(RealModel(), 7);
  EXPECT_EQ(graph.name, "small");
  EXPECT_EQ(graph.input_shape(), (ImageShape{7, 4, 4, 2}));
  EXPECT_EQ(graph.output_shape(), (ImageShape{7, 1, 1, 5}));
  EXPECT_EQ(graph.host.layout, HostInterface::Layout::kNchw);
  EXPECT_TRUE(graph.host.float_input && graph.host.float_output && graph.host.flat_output);
  EXPECT_TRUE(graph.host.tail.is_empty());
  EXPECT_EQ(layer(graph, "fc").tensor, "scores");
  EXPECT_EQ(layer(graph, "pool").tensor, "pool.out");
  EXPECT_TRUE(layer(graph, "fc").source.ends_with("model.onnx: node 'fc' (Gemm)"));
  EXPECT_EQ(operation<Flatten>(graph, "flatten").order, Flatten::Order::kChw);
}

TEST(FloatImport, ReadsFunctionsOfOneNumber) {
  RealModel leaky;
  leaky.insert_before("pool", "LeakyRelu", "f");
  EXPECT_EQ(function_of(leaky).kind, Kind::kLeakyRelu);
  EXPECT_EQ(function_of(leaky).alpha, 0.01F);
  RealModel hard;
  hard.insert_before("pool", "HardSigmoid", "f");
  hard.set_float("f", "beta", 0.25F);
  EXPECT_EQ(function_of(hard).kind, Kind::kHardSigmoid);
  EXPECT_EQ(function_of(hard).alpha, 0.2F);
  EXPECT_EQ(function_of(hard).beta, 0.25F);
  RealModel swish;
  swish.set_opset(14);
  swish.insert_before("pool", "HardSwish", "f");
  EXPECT_EQ(function_of(swish).kind, Kind::kHardSwish);
  RealModel sigmoid;
  sigmoid.insert_before("pool", "Sigmoid", "f");
  EXPECT_EQ(function_of(sigmoid).kind, Kind::kSigmoid);
  RealModel slope;
  slope.set_scale("slope", {3, 1, 1}, {0.3F, 0.3F, 0.3F});
  slope.insert_binary("pool", "PRelu", "f", "slope");
  EXPECT_EQ(function_of(slope).kind, Kind::kLeakyRelu);
  EXPECT_EQ(function_of(slope).alpha, 0.3F);
  RealModel equal;  // one a number of the picture
  equal.set_scale("slope", {3, 1, 2}, {0.3F, 0.3F, 0.3F, 0.3F, 0.3F, 0.3F});
  equal.insert_binary("pool", "PRelu", "f", "slope");
  EXPECT_EQ(function_of(equal).kind, Kind::kLeakyRelu);
}

TEST(FloatImport, ReadsASlopeForEachChannel) {
  const Tensor slopes = make_tensor<float>({3}, std::vector<float>{0.5F, 0.25F, -1.0F});
  RealModel picture;
  picture.set_reals("slope", {1, 3, 1, 1}, {0.5F, 0.25F, -1.0F});
  picture.insert_binary("pool", "PRelu", "f", "slope");
  EXPECT_EQ(operation<PRelu>(import_real(picture), "f").slopes, slopes);
  RealModel vector;
  vector.set_numbers("slope", {12});
  vector.insert_binary("fc", "PRelu", "f", "slope");
  EXPECT_EQ(operation<PRelu>(import_real(vector), "f").slopes.shape, Shape{12});
}

TEST(FloatImport, ReadsBoundsFromAttributesInputsMinAndMax) {
  RealModel attributes;
  attributes.set_opset(10);
  attributes.insert_before("pool", "Clip", "f");
  attributes.set_float("f", "min", -1.0F);
  attributes.set_float("f", "max", 6.0F);
  EXPECT_EQ(function_of(attributes).kind, Kind::kClip);
  EXPECT_EQ(function_of(attributes).lo, -1.0F);
  EXPECT_EQ(function_of(attributes).hi, 6.0F);
  RealModel inputs;
  inputs.set_scale("six", {}, {6.0F});
  inputs.insert_binary("pool", "Clip", "f", "").add_input("six");
  EXPECT_EQ(function_of(inputs).lo, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(function_of(inputs).hi, 6.0F);
  RealModel relu;
  relu.set_scale("zero", {}, {0.0F});
  relu.insert_binary("pool", "Max", "f", "zero");
  EXPECT_EQ(function_of(relu).kind, Kind::kRelu);
  RealModel least;
  least.set_scale("two", {1}, {2.0F});
  least.insert_binary("pool", "Min", "f", "two");
  EXPECT_EQ(function_of(least).hi, 2.0F);
  RealModel exchanged;
  exchanged.set_scale("low", {}, {3.0F});
  exchanged.set_scale("high", {}, {1.0F});
  exchanged.insert_binary("pool", "Clip", "f", "low").add_input("high");
  EXPECT_EQ(function_of(exchanged).lo, 1.0F);
  EXPECT_EQ(function_of(exchanged).hi, 1.0F);
  RealModel nothing;
  nothing.insert_before("pool", "Clip", "f");
  EXPECT_EQ(import_real(nothing).layers.size(), 5u);
}

TEST(FloatImport, TakesAProductWithItsHardSigmoidForHardSwish) {
  for (const bool first : {false, true}) {
    RealModel model;
    model.insert_before("pool", "HardSigmoid", "gate");
    model.set_float("gate", "alpha", 1.0F / 6.0F);
    onnx::NodeProto& node = model.insert_binary("pool", "Mul", "f", "gate.out");
    node.set_input(0, first ? "gate.out" : "relu.out");
    node.set_input(1, first ? "relu.out" : "gate.out");
    const Graph graph = import_real(model);
    EXPECT_EQ(operation<Activation>(graph, "f").kind, Kind::kHardSwish);
    EXPECT_EQ(graph.layers.size(), 6u) << "the HardSigmoid has no reader left";
    model.set_float("gate", "alpha", 0.2F);
    EXPECT_EQ(real_import_error(model).code, ExitCode::kUnsupportedModel);
  }
}

TEST(FloatImport, ReadsMatMulAndItsBiasTransposed) {
  RealModel model;
  model.node("fc").set_op_type("MatMul");
  model.drop_attribute("fc", "transB");
  model.node("fc").mutable_input()->RemoveLast();
  model.node("fc").set_output(0, "product");
  model.set_numbers("fc_w", {12, 5});
  onnx::NodeProto& node = *model.graph().add_node();
  node.set_op_type("Add");
  node.set_name("bias");
  node.add_input("fc_b");
  node.add_input("product");
  node.add_output("scores");
  const Graph graph = import_real(model);
  EXPECT_EQ(graph.layers.back().name, "fc");
  EXPECT_EQ(graph.layers.back().tensor, "scores");
  const auto& linear = operation<FullyConnected>(graph, "fc");
  for (std::size_t m = 0; m < 5; ++m) {
    EXPECT_EQ(linear.bias.as<float>()[m], numbers_of(model, "fc_b")[m]);
    for (std::size_t k = 0; k < 12; ++k) {
      EXPECT_EQ(linear.weights.as<float>()[m * 12 + k], numbers_of(model, "fc_w")[k * 5 + m]);
    }
  }
}

TEST(FloatImport, ReadsPoolsAndReductions) {
  RealModel counted;
  counted.node("pool").set_op_type("AveragePool");
  counted.set_int("pool", "count_include_pad", 1);
  counted.set_ints("pool", "pads", {1, 0, 0, 1});
  counted.set_int("pool", "ceil_mode", 1);
  counted.set_numbers("fc_w", {5, 3 * 3 * 2});
  const Graph pooled = import_real(counted);
  EXPECT_TRUE(operation<AveragePool>(pooled, "pool").count_include_pad);
  EXPECT_EQ(operation<AveragePool>(pooled, "pool").window, (Window{2, 2, 2, 2, 1, 0, 0, 1}));
  EXPECT_EQ(output_of(pooled, "pool"), (ImageShape{1, 3, 2, 3}));  // the last window hangs over
  RealModel global;
  global.node("pool").set_op_type("GlobalMaxPool");
  global.node("pool").clear_attribute();
  global.set_numbers("fc_w", {5, 3});
  EXPECT_EQ(operation<MaxPool>(import_real(global), "pool").window.kernel_w, 4);
  RealModel mean;
  mean.node("pool").set_op_type("ReduceMean");
  mean.node("pool").clear_attribute();
  mean.set_ints("pool", "axes", {-1, 2});
  mean.set_int("pool", "keepdims", 0);
  mean.set_numbers("fc_w", {5, 3});
  const Graph reduced = import_real(mean);
  EXPECT_EQ(operation<AveragePool>(reduced, "pool").window.kernel_h, 4);
  EXPECT_EQ(layer(reduced, "pool/flatten").tensor, "pool.out");
  EXPECT_EQ(layer(reduced, "pool").tensor, "");
}

TEST(FloatImport, ReadsInputsInNhwc) {
  RealModel model;
  model.insert_before("conv", "Transpose", "turn");
  model.set_ints("turn", "perm", {0, 3, 1, 2});
  auto& shape = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape.mutable_shape()->mutable_dim(1)->set_dim_value(4);
  shape.mutable_shape()->mutable_dim(3)->set_dim_value(2);
  const Graph graph = import_real(model);
  EXPECT_EQ(graph.host.layout, HostInterface::Layout::kNhwc);
  EXPECT_EQ(graph.input_shape(), (ImageShape{1, 4, 4, 2}));
}

TEST(FloatImport, FlattensWhatWasTransposedInItsOrder) {
  RealModel model;
  model.insert_before("flatten", "Transpose", "turn");
  model.set_ints("turn", "perm", {0, 2, 3, 1});
  EXPECT_EQ(operation<Flatten>(import_real(model), "flatten").order, Flatten::Order::kHwc);
}

TEST(FloatImport, LeavesPadsToTheLayerAfterThem) {
  const auto padded = [](const std::string& next) {
    RealModel model;
    model.set_opset(10);
    model.insert_before(next, "Pad", "pad");
    model.set_ints("pad", "pads", {0, 0, 2, 0, 0, 0, 0, 0});
    model.set_numbers("fc_w", {5, 18});
    return import_real(model);
  };
  EXPECT_EQ(operation<Conv2d>(padded("conv"), "conv").window.pad_top, 3);
  const Graph copied = padded("pool");
  EXPECT_EQ(operation<Conv2d>(copied, "pool/pad3").window.pad_top, 2);
  EXPECT_EQ(operation<Conv2d>(copied, "pool/pad3").weights.as<float>()[2], 1.0F);
  EXPECT_EQ(operation<MaxPool>(copied, "pool").window.pad_top, 0);
}

TEST(FloatImport, LeavesSoftmaxAndArgMaxToTheHost) {
  RealModel model;
  model.node("fc").set_output(0, "fc.out");
  for (const auto& [op_type, input, output] :
       {std::array{"Softmax", "fc.out", "soft"}, std::array{"ArgMax", "soft", "scores"}}) {
    onnx::NodeProto& node = *model.graph().add_node();
    node.set_op_type(op_type);
    node.set_name(op_type);
    node.add_input(input);
    node.add_output(output);
  }
  model.set_int("ArgMax", "axis", -1);
  auto& type = *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(TensorProto::INT64);
  type.mutable_shape()->mutable_dim(1)->set_dim_value(1);
  const HostTail tail = import_real(model).host.tail;
  EXPECT_TRUE(tail.softmax && tail.arg_max && tail.arg_max_keeps_axis);
}

TEST(FloatImport, IgnoresDropoutsThatDoNothing) {
  RealModel model;
  model.set_constant("ratio", TensorProto::FLOAT, {}, std::string(4, '\0'));
  model.set_constant("train", TensorProto::BOOL, {}, std::string(1, '\0'));
  onnx::NodeProto& node = model.insert_binary("pool", "Dropout", "drop", "ratio");
  node.add_input("train");
  node.add_output("mask");
  EXPECT_EQ(import_real(model).layers.size(), 5u);
}

TEST(FloatImport, ReadsWeightsThatAreJoinedOrTransposed) {
  RealModel model;
  model.set_numbers("upper", {2, 12}, 4);
  model.set_numbers("lower", {3, 12}, 28);
  onnx::NodeProto& node = model.insert_before("fc", "Concat", "join");
  node.set_input(0, "upper");
  node.add_input("lower");
  model.set_int("join", "axis", 0);
  model.node("fc").set_input(0, "flatten.out");
  model.node("fc").set_input(1, "join.out");
  EXPECT_EQ(operation<FullyConnected>(import_real(model), "fc").weights,
            operation<FullyConnected>(import_real(RealModel()), "fc").weights);
  model.node("join").set_op_type("Transpose");
  model.node("join").mutable_input()->RemoveLast();
  model.node("join").clear_attribute();
  model.node("join").set_input(0, "fc_w");
  model.set_int("fc", "transB", 0);
  EXPECT_EQ(operation<FullyConnected>(import_real(model), "fc").weights,
            operation<FullyConnected>(import_real(RealModel()), "fc").weights);
}

}  // namespace
}  // namespace qsim
