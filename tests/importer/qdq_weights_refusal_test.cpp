// Weights, biases, pads and constants of QDQ graphs that are not supported or malformed.
#include <functional>

#include <gtest/gtest.h>

#include "tests/importer/float_island.h"
#include "tests/importer/refusal_cases.h"

namespace qsim {
namespace {

using onnx::TensorProto;

// A 1x1 Conv "op" of weights "k" [3, 3, 1, 1] after the DequantizeLinear "k.dq".
onnx::NodeProto& convolution(TestModel& m) {
  m.set_constant("k", TensorProto::INT8, {3, 3, 1, 1}, "abcdefghi");
  m.set_scale("k_scale", {}, {0.5F});
  m.set_zero_point("k_zero_point", TensorProto::INT8, 0);
  onnx::NodeProto& conv = island(m, "Conv");
  conv.add_input("k.dq.out");
  append(m, "DequantizeLinear", "k.dq", {"k", "k_scale", "k_zero_point"});
  return conv;
}

TEST(QdqWeights, AConvolutionOfTheTestsIsSupported) {
  TestModel model;
  convolution(model);
  EXPECT_EQ(import_error(model), ImportError{});
}

TEST(QdqWeights, MustBeConstantsAfterADequantizeLinear) {
  const std::string supported = "; supported: a constant of int8 or uint8 after a DequantizeLinear";
  expect_refusals(
      kUnsupported,
      {{"node 'op' (Conv): W is not quantized" + supported,
        [](TestModel& m) { convolution(m).set_input(1, "y_scale"); }},
       {"node 'op' (Conv): W is computed" + supported,
        [](TestModel& m) { convolution(m).set_input(1, "early.out"); }},
       {"node 'k.dq' (DequantizeLinear): weights x_scale has shape [2]; supported: [], [1], [3]",
        [](TestModel& m) {
          convolution(m);
          m.set_scale("k_scale", {2}, {0.5F, 0.25F});
        }},
       {"node 'k.dq' (DequantizeLinear): axis = 1 of weights; supported: their output "
        "channels, 0",
        [](TestModel& m) {
          convolution(m);
          m.set_scale("k_scale", {3}, {0.5F, 0.25F, 1.0F});
        }},
       {"node 'fc' (QGemm): B has shape [12]; supported: two or four dimensions", [](TestModel& m) {
          m.drop_attribute("fc", "transB");
          m.set_constant("fc_w", TensorProto::INT8, {12}, std::string(12, 'a'));
        }}});
}

TEST(QdqWeights, BiasesMustFitThem) {
  expect_refusals(
      kUnsupported,
      {{"node 'b.dq' (DequantizeLinear): bias x 'bias16': is int16; supported: int8, uint8, "
        "int32, float32",
        [](TestModel& m) {
          convolution(m).add_input("b.dq.out");
          m.set_scale("b_scale", {}, {0.0625F});
          m.set_constant("bias16", TensorProto::INT16, {3}, "abcdef");
          append(m, "DequantizeLinear", "b.dq", {"bias16", "b_scale"});
        }},
       {"node 'b.dq' (DequantizeLinear): bias x_scale has shape [2]; supported: [], [1], [3]",
        [](TestModel& m) {
          convolution(m).add_input("b.dq.out");
          m.set_scale("b_scale", {2}, {0.0625F, 1.0F});
          append(m, "DequantizeLinear", "b.dq", {"bias", "b_scale"});
        }},
       {"node 'op' (Conv): bias[0] = 3.4028235e+38; supported: numbers that x_scale * w_scale "
        "makes "
        "int32",
        [](TestModel& m) {
          convolution(m).add_input("b.dq.out");
          m.set_scale("b_scale", {}, {3.4028235e+38F});
          m.set_constant("one", TensorProto::INT8, {3}, "\1\1\1");
          append(m, "DequantizeLinear", "b.dq", {"one", "b_scale"});
        }},
       {"node 'op' (Conv): bias is int32 [3]; supported: float32 [3], or int32 after a "
        "DequantizeLinear",
        [](TestModel& m) { convolution(m).add_input("bias"); }},
       {"node 'op' (Conv): bias[1] = 1e+30; supported: numbers that x_scale * w_scale makes int32",
        [](TestModel& m) {
          convolution(m).add_input("large");
          m.set_scale("large", {3}, {1.0F, 1e30F, 1.0F});
        }},
       {"node 'op' (Gemm): beta = 2; supported: 1",
        [](TestModel& m) {
          island(m, "Gemm").add_input("w");
          m.node("op").add_input("bias");
          m.set_float("op", "beta", 2.0F);
        }},
       {"node 'op' (Gemm): alpha = 2 and a bias; supported: alpha 1, or no bias", [](TestModel& m) {
          island(m, "Gemm").add_input("w");
          m.node("op").add_input("bias");
          m.set_float("op", "alpha", 2.0F);
        }}});
  expect_refusals(
      ExitCode::kBadInput,
      {{"node 'op' (Conv): group = 2 with 3 input and 3 output channels; expected a divisor "
        "of both",
        [](TestModel& m) {
          convolution(m);
          m.set_int("op", "group", 2);
        }}});
}

TEST(QdqPads, MustBeZerosAroundPictures) {
  const auto pad = [](TestModel& m, std::initializer_list<std::int64_t> amounts) {
    island(m, "Pad").add_input("amounts");
    set_int64s(m, "amounts", amounts);
  };
  expect_refusals(
      kUnsupported,
      {{"node 'op' (Pad): pads = [0, 1, 0, 0, 0, 0, 0, 0] of [N, C, H, W]; supported: 0 or "
        "more positions around height and width",
        [&](TestModel& m) {
          pad(m, {0, 1, 0, 0, 0, 0, 0, 0});
        }},
       {"node 'op' (Pad): pads with 2.5; supported: its zero_point, 0",
        [&](TestModel& m) {
          pad(m, {0, 0, 1, 1, 0, 0, 1, 1});
          m.node("op").add_input("fill");
          m.set_scale("fill", {}, {2.5F});
        }},
       {"node 'op' (Pad): mode = 'edge'; supported: constant",
        [&](TestModel& m) {
          pad(m, {0, 0, 1, 1, 0, 0, 1, 1});
          m.set_text("op", "mode", "edge");
        }},
       {"node 'conv' (QLinearConv): zero_point 3 of a tensor that a Pad fills with 0; "
        "supported: pads of the zero_point",
        [](TestModel& m) {
          m.begin_with(TensorProto::UINT8, {1, 2, 4, 4});
          m.insert_before("conv", "Pad", "first").add_input("amounts");
          set_int64s(m, "amounts", {0, 0, 1, 1, 0, 0, 1, 1});
        }}});
  expect_refusals(
      ExitCode::kBadInput,
      {{"node 'op' (Pad): 6 pads; expected 8, two for each axis",
        [&](TestModel& m) {
          pad(m, {0, 0, 0, 0, 0, 0});
        }},
       {"node 'op' (Pad): axis 7; expected axes of the tensor",
        [&](TestModel& m) {
          pad(m, {1, 1});
          m.node("op").add_input("");
          m.node("op").add_input("seven");
          set_int64s(m, "seven", {7});
        }},
       {"node 'op' (Pad): constant_value has shape [2]; expected one number", [&](TestModel& m) {
          pad(m, {0, 0, 1, 1, 0, 0, 1, 1});
          m.node("op").add_input("fill");
          m.set_scale("fill", {2}, {0.0F, 0.0F});
        }}});
}

// A Clip whose bound is computed from constants, by one node "made".
onnx::NodeProto& made_bound(TestModel& m, const std::string& op_type,
                            std::initializer_list<const char*> inputs) {
  island(m, "Clip").add_input("made.out");
  m.set_scale("numbers", {3}, {1.0F, 2.0F, 3.0F});
  set_int64s(m, "minus", {-1});
  set_int64s(m, "nine", {9});
  return append(m, op_type, "made", inputs);
}

TEST(QdqConstants, AreComputedOnlyWhereThatIsPossible) {
  expect_refusals(
      ExitCode::kBadInput,
      {{"node 'made' (Gather): axis = 3; expected an axis of the tensor",
        [](TestModel& m) {
          made_bound(m, "Gather", {"numbers", "minus"});
          m.set_int("made", "axis", 3);
        }},
       {"node 'made' (Gather): index 9; expected one of 3",
        [](TestModel& m) {
          made_bound(m, "Gather", {"numbers", "nine"});
        }},
       {"node 'made' (Reshape): shape [9]; expected a shape of 3 elements",
        [](TestModel& m) {
          made_bound(m, "Reshape", {"numbers", "nine"});
        }},
       {"node 'made' (ConstantOfShape): shape [-1]; expected 0 or more", [](TestModel& m) {
          made_bound(m, "ConstantOfShape", {"minus"});
          onnx::AttributeProto& value = m.attribute("made", "value");
          value.set_type(onnx::AttributeProto::TENSOR);
          value.mutable_t()->set_data_type(TensorProto::FLOAT);
          value.mutable_t()->add_float_data(1.0F);
        }}});
}

}  // namespace
}  // namespace qsim
