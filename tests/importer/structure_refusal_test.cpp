// Models whose structure is not supported are refused (exit code 4) by name: graphs that are not a
// chain, layouts that move elements, inputs of other kinds.
#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/refusal_cases.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

void expect_structure_refusals(const std::vector<RefusalCase>& cases) {
  qsim::expect_refusals(kUnsupported, cases);
}

// The place that import_error takes away is part of the message here.
TEST(ImporterRefuses, SizesThatOverflowByTheNameOfTheFile) {
  const TestFolder folder;
  TestModel wide;
  wide.begin_with(TensorProto::UINT8, {1, 2, std::int64_t{1} << 32, std::int64_t{1} << 32});
  wide.save(folder / "wide.onnx");
  try {
    import_onnx(folder / "wide.onnx");
    ADD_FAILURE() << "is taken";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with((folder / "wide.onnx").string() + ": ")) << message;
    EXPECT_NE(message.find("size overflow: "), std::string::npos) << message;
  }
}

TEST(ImporterRefuses, QuantizationInTheMiddleOfTheGraph) {
  expect_structure_refusals({
      {"node 'again' (QuantizeLinear): reads 8-bit numbers; supported: float32 after a "
       "DequantizeLinear",
       [](TestModel& m) {
         m.insert_before("pool", "QuantizeLinear", "again");
         m.node("again").add_input("x_scale");
         m.node("again").add_input("x_zero_point");
       }},
      {"node 'fc' (QGemm): reads float32 after DequantizeLinear; supported: int8 or uint8, after a "
       "QuantizeLinear",
       [](TestModel& m) {
         m.insert_before("pool", "DequantizeLinear", "early");
         m.node("early").add_input("y_scale");
         m.node("early").add_input("y_zero_point");
       }},
      {"node 'pre' (MaxPool): reads the float32 input; supported: int8 or uint8, after a "
       "QuantizeLinear",
       [](TestModel& m) { m.insert_before("quantize", "MaxPool", "pre"); }},
      {"node 'fc' (QGemm): reads its input as scale 0.0625, zero_point 3; supported: the "
       "tensor's own scale 0.125, zero_point 5",
       [](TestModel& m) {
         m.node("fc").set_input(1, "x_scale");
         m.node("fc").set_input(2, "x_zero_point");
       }},
      {"node 'fc' (QGemm): y_scale is absent, so the output is float32; supported: a quantized "
       "output",
       [](TestModel& m) { m.node("fc").mutable_input()->DeleteSubrange(7, 2); }},
  });
}

TEST(ImporterRefuses, GraphsOfOtherEndsThanOneInputAndOneOutput) {
  expect_structure_refusals({
      {"node 'pool' (MaxPool): 2 outputs; supported: one named output",
       [](TestModel& m) { m.node("pool").add_output("indices"); }},
      {"node 'conv' (QLinearConv): input 0 'w' is a constant; supported: a tensor that the graph "
       "computes",
       [](TestModel& m) { m.node("conv").set_input(0, "w"); }},
      {"outputs 'scores' and 'pool.out'; supported: one output",
       [](TestModel& m) { m.graph().add_output()->set_name("pool.out"); }},
      {"no input; supported: one input", [](TestModel& m) { m.graph().clear_input(); }},
      {"inputs 'image' and 'mask'; supported: one input",
       [](TestModel& m) { m.graph().add_input()->set_name("mask"); }},
      {"output 'image': no layer between input and output; supported: one or more",
       [](TestModel& m) {
         m.graph().clear_node();
         m.graph().mutable_output(0)->set_name("image");
       }},
  });
}

TEST(ImporterRefuses, LayoutsThatMoveElements) {
  expect_structure_refusals({
      {"node 'turn' (Transpose): perm = [0, 1, 3, 2] of [1, 4, 4, 3] (NHWC); supported: "
       "permutations between [N, C, H, W] and [N, H, W, C]",
       [](TestModel& m) {
         m.insert_before("pool", "Transpose", "turn");
         m.set_ints("turn", "perm", {0, 1, 3, 2});
       }},
      {"node 'turn' (Transpose): perm = [1, 0] of [1, 1, 1, 12] (NHWC); supported: permutations "
       "between [N, C, H, W] and [N, H, W, C]",
       [](TestModel& m) { m.insert_before("fc", "Transpose", "turn"); }},
      {"node 'pool' (MaxPool): reads a tensor [N, H, W, C] = [1, 4, 4, 3]; supported: [N, C, H, W]",
       [](TestModel& m) {
         m.insert_before("pool", "Transpose", "turn");
         m.set_ints("turn", "perm", {0, 2, 3, 1});
       }},
      {"node 'late' (MaxPool): reads a tensor [N, K] = [1, 12]; supported: [N, C, H, W]",
       [](TestModel& m) { m.insert_before("fc", "MaxPool", "late"); }},
      {"node 'fc' (QGemm): reads a tensor [N, C, H, W] = [1, 3, 2, 2]; supported: [N, K]",
       [](TestModel& m) {
         m.node("fc").set_input(0, "pool.out");
         m.graph().mutable_node()->DeleteSubrange(3, 1);
       }},
      {"output 'turn.out': has axes [N, H, W, C]; supported: [N, C, H, W] as the input has, or "
       "[N, K]",
       [](TestModel& m) {
         m.insert_before("flatten", "Transpose", "turn");
         m.set_ints("turn", "perm", {0, 2, 3, 1});
         m.graph().mutable_node()->DeleteSubrange(3, 3);
         m.end_after("turn", TensorProto::UINT8, 4);
       }},
      {"node 'shape' (Reshape): shape [2, 6]; supported: [1, -1], [1, 12], [1, -1, 1, 1], [1, 12, "
       "1, 1]",
       [](TestModel& m) {
         m.node("flatten").set_op_type("Reshape");
         m.node("flatten").set_name("shape");
         m.node("shape").add_input("target");
         const std::int64_t target[] = {2, 6};
         m.set_constant("target", TensorProto::INT64, {2},
                        {reinterpret_cast<const char*>(target), sizeof target});
       }},
  });
}

TEST(ImporterRefuses, ReluAwayFromZeroPointZero) {
  expect_structure_refusals({
      {"node 'relu' (Relu): reads a tensor of zero_point 5; supported: zero_point 0",
       [](TestModel& m) {
         m.proto.mutable_opset_import(0)->set_version(14);
         m.set_zero_point("y_zero_point", TensorProto::INT8, 5);
         m.insert_before("pool", "Relu", "relu");
       }},
      {"node 'conv' (QLinearConv): zero_point 3 of a tensor that Relu 'relu' has cut off at 0; "
       "supported: zero_point 0 around Relu",
       [](TestModel& m) {
         m.proto.mutable_opset_import(0)->set_version(14);
         m.begin_with(TensorProto::INT8, {1, 2, 4, 4});
         m.set_zero_point("x_zero_point", TensorProto::INT8, 3);
         m.insert_before("conv", "Relu", "relu");
       }},
  });
}

TEST(ImporterRefuses, InputsOfOtherTypesAndShapes) {
  const std::string supported =
      "; supported: [N, C, H, W], [N, H, W, C], [N, K]; only N may be unknown";
  const std::string sizes = " (`qsim run --shape` gives sizes)";
  expect_structure_refusals({
      {"input 'quantize.out': is int64; supported: float32, int8, uint8",
       [](TestModel& m) {
         m.begin_with(TensorProto::INT64, {1, 2, 4, 4});
       }},
      {"input 'quantize.out': shape [1, 2, 4]" + supported,
       [](TestModel& m) {
         m.begin_with(TensorProto::INT8, {1, 2, 4});
       }},
      {"input 'quantize.out': shape [1, 2, ?, 4]" + supported + sizes,
       [](TestModel& m) {
         m.begin_with(TensorProto::INT8, {1, 2, -1, 4});
       }},
      {"input 'quantize.out': dimension 3 is 0; supported: 1 or more, or a name",
       [](TestModel& m) {
         m.begin_with(TensorProto::INT8, {1, 2, 4, 0});
       }},
      {"input 'image': shape unknown" + supported + sizes,
       [](TestModel& m) {
         m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
       }},
      {"input 'image': is not declared as a tensor; supported: a tensor",
       [](TestModel& m) { m.graph().mutable_input(0)->clear_type(); }},
      {"input 'quantize.out': a tensor of 2000000000000 elements; supported: at most 2147483648",
       [](TestModel& m) {
         m.begin_with(TensorProto::UINT8, {1, 2, 1'000'000, 1'000'000});
       }},
  });
}

TEST(ImporterRefuses, BatchesThatContradictTheFile) {
  TestModel model;
  model.begin_with(TensorProto::UINT8, {3, 2, 4, 4});
  EXPECT_EQ(
      import_error(model, 4),
      (ImportError{ExitCode::kUnsupportedModel,
                   "input 'quantize.out': the file fixes the batch at 3, but the run asks for 4; "
                   "supported: 3"}));
  EXPECT_EQ(import_error(model, 3), ImportError{});
}

TEST(ImporterRefuses, FunctionsSparseTensorsAndTooManyNodes) {
  expect_structure_refusals({
      {"local function 'f'; supported: nodes of standard operators",
       [](TestModel& m) { m.proto.add_functions()->set_name("f"); }},
      {"sparse initializer; supported: dense initializers",
       [](TestModel& m) { m.graph().add_sparse_initializer(); }},
      {"10001 nodes; supported: at most 10000",
       [](TestModel& m) {
         while (m.graph().node_size() < 10'001) {
           m.insert_before("pool", "Identity", "i" + std::to_string(m.graph().node_size()));
         }
       }},
      {"node 'made' (Constant): attribute value_string; supported: value, value_float, "
       "value_floats, value_int, value_ints",
       [](TestModel& m) {
         auto& node = *m.graph().add_node();
         node.set_op_type("Constant");
         node.set_name("made");
         node.add_output("text");
         m.set_text("made", "value_string", "hello");
       }},
  });
}

}  // namespace
}  // namespace qsim
