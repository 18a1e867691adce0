// Where the importer's rules begin and end: the nearest model that is refused, or is just read.
#include <functional>

#include <gtest/gtest.h>

#include "tests/importer/model_builder.h"

namespace qsim {
namespace {

using onnx::TensorProto;

struct Boundary {
  std::string expected;  // of the error; empty: the model is read
  std::function<void(TestModel&)> apply;
};

void expect_all(ExitCode code, const std::vector<Boundary>& boundaries) {
  for (const Boundary& boundary : boundaries) {
    TestModel model;
    boundary.apply(model);
    EXPECT_EQ(import_error(model), (ImportError{code, boundary.expected}));
  }
}

// A Constant node `name` with one attribute; its output is "<name>.out".
onnx::AttributeProto& add_constant_node(TestModel& model, const std::string& name,
                                        const std::string& attribute,
                                        onnx::AttributeProto::AttributeType type) {
  onnx::NodeProto& node = *model.graph().add_node();
  node.set_op_type("Constant");
  node.set_name(name);
  node.add_output(name + ".out");
  onnx::AttributeProto& added = model.attribute(name, attribute);
  added.set_type(type);
  return added;
}

TEST(ImporterBoundary, AScaleAloneOrAZeroPointAloneMayDisagree) {
  expect_all(ExitCode::kUnsupportedModel,
             {{"node 'fc' (QGemm): reads its input as scale 0.125, zero_point 3; supported: the "
               "tensor's own scale 0.125, zero_point 5",
               [](TestModel& m) { m.node("fc").set_input(2, "x_zero_point"); }},
              {"node 'fc' (QGemm): reads its input as scale 0.0625, zero_point 5; supported: the "
               "tensor's own scale 0.125, zero_point 5",
               [](TestModel& m) { m.node("fc").set_input(1, "x_scale"); }}});
}

TEST(ImporterBoundary, QuantizeLinearSaturates) {
  expect_all(ExitCode::kUnsupportedModel,
             {{"node 'quantize' (QuantizeLinear): saturate = 0; supported: 1",
               [](TestModel& m) { m.set_int("quantize", "saturate", 0); }}});
}

TEST(ImporterBoundary, DequantizeLinearWithoutZeroPointTakesTheTensorsType) {
  TestModel model;
  model.set_zero_point("z_zero_point", TensorProto::INT8, 0);
  model.node("dequantize").mutable_input()->RemoveLast();
  EXPECT_EQ(import_model(model).output_value().dtype, DType::kInt8);
}

TEST(ImporterBoundary, OnlyTheBatchMayBeUnknown) {
  const std::string supported =
      "; supported: [N, C, H, W], [N, H, W, C], [N, K]; only N may be unknown "
      "(`qsim run --shape` gives sizes)";
  expect_all(ExitCode::kUnsupportedModel,
             {{"input 'quantize.out': shape [1, ?, 4, 4]" + supported,
               [](TestModel& m) {
                 m.begin_with(TensorProto::UINT8, {1, -1, 4, 4});
               }},
              {"input 'quantize.out': shape [?, 2, 4, ?]" + supported, [](TestModel& m) {
                 m.begin_with(TensorProto::UINT8, {-1, 2, 4, -1});
               }}});
}

TEST(ImporterBoundary, ATensorHasAtMostTwoToThe31Elements) {
  expect_all(ExitCode::kUnsupportedModel,
             {{"input 'quantize.out': a tensor of 2147549184 elements; supported: at most "
               "2147483648",
               [](TestModel& m) {
                 m.begin_with(TensorProto::UINT8, {1, 2, 32768, 32769});
               }}});
}

TEST(ImporterBoundary, HeightAndWidthKeepTheirPlaces) {
  TestModel model;
  model.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(3)
      ->set_dim_value(5);
  const Graph graph = import_model(model);
  EXPECT_EQ(graph.input_value().shape, (ImageShape{1, 4, 5, 2}));
  EXPECT_EQ(graph.output_of(0).shape, (ImageShape{1, 4, 5, 3}));
}

// The first Transpose says that the file's input is channels-last; a second one, or one after a
// layer, would move elements.
TEST(ImporterBoundary, OneTransposeNamesTheInputsLayout) {
  const auto turn = [](TestModel& m, const std::string& next, const std::string& name) {
    m.insert_before(next, "Transpose", name);
    m.set_ints(name, "perm", {0, 3, 1, 2});
  };
  expect_all(ExitCode::kUnsupportedModel,
             {{"node 'turn' (Transpose): perm = [0, 3, 1, 2] of [1, 4, 4, 3] (NHWC); supported: "
               "permutations between [N, C, H, W] and [N, H, W, C]",
               [&](TestModel& m) { turn(m, "pool", "turn"); }},
              {"node 'second' (Transpose): perm = [0, 3, 1, 2] of [1, 2, 4, 4] (NHWC); supported: "
               "permutations between [N, C, H, W] and [N, H, W, C]",
               [&](TestModel& m) {
                 turn(m, "quantize", "second");
                 turn(m, "second", "first");
               }}});
}

TEST(ImporterBoundary, ConstantNodesMakeListsAndScalars) {
  TestModel model;
  auto& floats = add_constant_node(model, "list", "value_floats", onnx::AttributeProto::FLOATS);
  for (const float value : {0.03125F, 0.015625F, 0.0078125F}) floats.add_floats(value);
  model.node("conv").set_input(4, "list.out");
  const Graph graph = import_model(model);
  EXPECT_EQ(std::get<Conv2d>(graph.layers[0].operation).requantization.shifts,
            (std::vector<std::uint8_t>{6, 7, 8}));
  model.node("flatten").set_op_type("Reshape");
  model.node("flatten").add_input("target.out");
  auto& ints = add_constant_node(model, "target", "value_ints", onnx::AttributeProto::INTS);
  ints.add_ints(1);
  ints.add_ints(12);
  EXPECT_EQ(import_error(model), ImportError{});
  model.attribute("target", "value_ints").set_ints(1, 13);
  EXPECT_EQ(import_error(model), (ImportError{ExitCode::kUnsupportedModel,
                                              "node 'flatten' (Reshape): shape [1, 13]; supported: "
                                              "[1, -1], [1, 12], [1, -1, 1, 1], [1, 12, 1, 1]"}));
}

TEST(ImporterBoundary, InputsAndNumbersAreNeitherOneTooFewNorOneTooMany) {
  expect_all(
      ExitCode::kBadInput,
      {{"node 'conv' (QLinearConv): 7 inputs; expected 8 to 9",
        [](TestModel& m) { m.node("conv").mutable_input()->DeleteSubrange(7, 2); }},
       {"node 'conv' (QLinearConv): 10 inputs; expected 8 to 9",
        [](TestModel& m) { m.node("conv").add_input("bias"); }},
       {"node 'pool' (MaxPool): attribute kernel_shape has 3 numbers; expected 2",
        [](TestModel& m) {
          m.set_ints("pool", "kernel_shape", {2, 2, 2});
        }},
       {"node 'pool' (MaxPool): attribute kernel_shape has 1 numbers; expected 2",
        [](TestModel& m) { m.set_ints("pool", "kernel_shape", {2}); }},
       {"node 'conv' (QLinearConv): w 'w': holds 55 bytes; expected 54 for shape [3, 2, 3, 3]",
        [](TestModel& m) { m.constant("w").mutable_raw_data()->push_back('x'); }},
       {"node 'conv' (QLinearConv): w 'w': holds 53 bytes; expected 54 for shape [3, 2, 3, 3]",
        [](TestModel& m) { m.constant("w").mutable_raw_data()->pop_back(); }}});
}

TEST(ImporterBoundary, ReferencesToFunctionAttributesAndSegmentsAreRefused) {
  TestModel reference;
  reference.attribute("conv", "pads").set_ref_attr_name("outer");
  EXPECT_EQ(import_error(reference).code, ExitCode::kBadInput);
  expect_all(ExitCode::kUnsupportedModel,
             {{"node 'conv' (QLinearConv): w 'w': stored in segments; supported: a whole tensor",
               [](TestModel& m) { m.constant("w").mutable_segment()->set_begin(0); }}});
}

TEST(ImporterBoundary, AReshapesTargetIsAListOfInt64) {
  const auto reshape = [](TestModel& m, TensorProto::DataType type,
                          std::initializer_list<std::int64_t> shape) {
    const std::int64_t target[] = {1, 12};
    m.set_constant("target", type, shape, {reinterpret_cast<const char*>(target), sizeof target});
    m.node("flatten").set_op_type("Reshape");
    m.node("flatten").add_input("target");
  };
  expect_all(ExitCode::kOk, {{"", [&](TestModel& m) { reshape(m, TensorProto::INT64, {2}); }}});
  expect_all(
      ExitCode::kBadInput,
      {{"node 'flatten' (Reshape): shape 'target': is uint64 [2]; expected a list of int64",
        [&](TestModel& m) { reshape(m, TensorProto::UINT64, {2}); }},
       {"node 'flatten' (Reshape): shape 'target': is int64 [1, 2]; expected a list of int64",
        [&](TestModel& m) {
          reshape(m, TensorProto::INT64, {1, 2});
        }}});
}

}  // namespace
}  // namespace qsim
