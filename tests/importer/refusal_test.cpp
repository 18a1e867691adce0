// Every kind of model that is well-formed but not supported is refused (exit code 4) with the
// node's name, what was found and what is supported. Here: operators and their numbers.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/importer/refusal_cases.h"

namespace qsim {
namespace {

using onnx::TensorProto;

void expect_refusals(const std::vector<RefusalCase>& cases) {
  qsim::expect_refusals(kUnsupported, cases);
}

TEST(ImporterRefuses, NothingInTheModelThatTheOtherTestsBreak) {
  EXPECT_EQ(import_error(TestModel()), ImportError{});
}

TEST(ImporterRefuses, OpsetsOutsideSevenToTwentyFive) {
  expect_refusals({
      {"opset 6; supported: 7 to 25",
       [](TestModel& m) { m.proto.mutable_opset_import(0)->set_version(6); }},
      {"no opset_import of the ONNX operators; supported: opset 7 to 25",
       [](TestModel& m) { m.proto.mutable_opset_import()->DeleteSubrange(0, 1); }},
      {"opset 26; supported: 7 to 25",
       [](TestModel& m) { m.proto.mutable_opset_import(0)->set_version(26); }},
  });
}

TEST(ImporterRefuses, OperatorsThatItDoesNotKnow) {
  const std::string supported = "; supported: those of docs/reference/onnx.md";
  expect_refusals({
      {"node 'soft' (Erf): operator Erf" + supported,
       [](TestModel& m) { m.insert_before("dequantize", "Erf", "soft"); }},
      {"node 6 (Erf): operator Erf" + supported,
       [](TestModel& m) { m.insert_before("dequantize", "Erf", "soft").clear_name(); }},
      {"node 'fc' (QGemm): operator QGemm" + supported,
       [](TestModel& m) { m.node("fc").clear_domain(); }},
      {"node 'pool' (MaxPool): operator com.microsoft MaxPool" + supported,
       [](TestModel& m) { m.node("pool").set_domain("com.microsoft"); }},
  });
}

TEST(ImporterRefuses, ScalesThatAreNotPositiveNumbers) {
  const std::string supported = "; supported: positive float32 numbers";
  expect_refusals({
      {"node 'quantize' (QuantizeLinear): y_scale = nan" + supported,
       [](TestModel& m) { m.set_scale("x_scale", {}, {std::nanf("")}); }},
      {"node 'conv' (QLinearConv): w_scale[2] = -0.75" + supported,
       [](TestModel& m) {
         m.set_scale("w_scale", {3}, {0.5F, 0.25F, -0.75F});
       }},
      {"node 'conv' (QLinearConv): y_scale = 0" + supported,
       [](TestModel& m) { m.set_scale("y_scale", {}, {0.0F}); }},
      {"node 'conv' (QLinearConv): y_scale = inf" + supported,
       [](TestModel& m) { m.set_scale("y_scale", {}, {HUGE_VALF}); }},
      {"node 'conv' (QLinearConv): output channel 1 needs the scale 0 / 0.125" + supported,
       [](TestModel& m) {
         m.set_scale("w_scale", {3}, {0.5F, 0x1p-149F, 0.5F});
       }},
      {"node 'fc' (QGemm): output channel 0 needs the scale inf / 0.5" + supported,
       [](TestModel& m) {
         m.set_scale("fc_w_scale", {}, {0x1.8p127F});
         m.set_float("fc", "alpha", 16.0F);
       }},
  });
}

TEST(ImporterRefuses, ScalesAndZeroPointsOfOtherShapesOrTypes) {
  expect_refusals({
      {"node 'quantize' (QuantizeLinear): y_scale has shape [2]; supported: [], [1]",
       [](TestModel& m) {
         m.set_scale("x_scale", {2}, {0.5F, 0.5F});
       }},
      {"node 'conv' (QLinearConv): w_scale has shape [2]; supported: [], [1], [3]",
       [](TestModel& m) {
         m.set_scale("w_scale", {2}, {0.5F, 0.5F});
       }},
      {"node 'conv' (QLinearConv): w_scale has shape [1, 3]; supported: [], [1], [3]",
       [](TestModel& m) {
         m.set_scale("w_scale", {1, 3}, {0.5F, 0.5F, 0.5F});
       }},
      {"node 'conv' (QLinearConv): w_zero_point has shape [2]; supported: [], [1], [3]",
       [](TestModel& m) {
         m.set_constant("w_zero_point", TensorProto::INT8, {2}, {"\0\0", 2});
       }},
      {"node 'conv' (QLinearConv): y_zero_point has shape [3]; supported: [], [1]",
       [](TestModel& m) { m.set_constant("y_zero_point", TensorProto::UINT8, {3}, "abc"); }},
      {"node 'conv' (QLinearConv): y_zero_point is int32; supported: int8, uint8",
       [](TestModel& m) { m.set_constant("y_zero_point", TensorProto::INT32, {}, "abcd"); }},
      {"node 'conv' (QLinearConv): y_scale is int32; supported: float32",
       [](TestModel& m) { m.set_constant("y_scale", TensorProto::INT32, {}, "abcd"); }},
      {"node 'conv' (QLinearConv): y_scale 'y_scale': is float16; supported: int8, uint8, int32, "
       "float32",
       [](TestModel& m) { m.set_constant("y_scale", TensorProto::FLOAT16, {}, "ab"); }},
  });
}

TEST(ImporterRefuses, WeightsThatTheArrayCannotHold) {
  expect_refusals({
      {"node 'conv' (QLinearConv): w_zero_point is uint8; supported: int8, as w is",
       [](TestModel& m) { m.set_zero_point("w_zero_point", TensorProto::UINT8, 0); }},
      {"node 'conv' (QLinearConv): w is int32; supported: int8, uint8",
       [](TestModel& m) {
         m.set_constant("w", TensorProto::INT32, {3, 2, 3, 3}, std::string(216, 'a'));
       }},
      {"node 'fc' (QGemm): b_zero_point is int8; supported: uint8, as b is",
       [](TestModel& m) { m.constant("fc_w").set_data_type(TensorProto::UINT8); }},
      {"node 'fc' (QGemm): B has shape [5, 12, 1]; supported: two dimensions",
       [](TestModel& m) { m.constant("fc_w").add_dims(1); }},
      {"node 'conv' (QLinearConv): w has shape [3, 18]; supported: [M, C, kernel_h, kernel_w]",
       [](TestModel& m) {
         m.set_constant("w", TensorProto::INT8, {3, 18}, std::string(54, 'a'));
       }},
      {"node 'conv' (QLinearConv): w 'quantize.out' is computed; supported: a constant",
       [](TestModel& m) { m.node("conv").set_input(3, "quantize.out"); }},
      {"node 'conv' (QLinearConv): B has shape [4]; supported: [3]",
       [](TestModel& m) { m.set_constant("bias", TensorProto::INT32, {4}, std::string(16, 'a')); }},
      {"node 'conv' (QLinearConv): B is float32; supported: int32",
       [](TestModel& m) { m.constant("bias").set_data_type(TensorProto::FLOAT); }},
      {"node 'fc' (QGemm): C has shape [5, 1]; supported: [5], [1, 5]",
       [](TestModel& m) { m.constant("fc_bias").add_dims(1); }},
  });
}

TEST(ImporterRefuses, AttributesThatChangeTheArithmetic) {
  expect_refusals({
      {"node 'conv' (QLinearConv): pads = [1, -1, 1, 1]; supported: 0 or more",
       [](TestModel& m) {
         m.set_ints("conv", "pads", {1, -1, 1, 1});
       }},
      {"node 'pool' (MaxPool): storage_order = 1; supported: 0",
       [](TestModel& m) { m.set_int("pool", "storage_order", 1); }},
      {"node 'pool' (MaxPool): ceil_mode = 2; supported: 0, 1",
       [](TestModel& m) { m.set_int("pool", "ceil_mode", 2); }},
      {"node 'pool' (MaxPool): pads = [0, 0, 2, 0]; supported: pads smaller than the kernel [2, 2]",
       [](TestModel& m) {
         m.set_ints("pool", "pads", {0, 0, 2, 0});
       }},
      {"node 'pool' (MaxPool): auto_pad = 'SOME'; supported: NOTSET, VALID, SAME_UPPER, SAME_LOWER",
       [](TestModel& m) { m.set_text("pool", "auto_pad", "SOME"); }},
      {"node 'pool' (MaxPool): auto_pad SAME_LOWER pads 4 positions by -3 for kernel 1 and "
       "stride 5; supported: windows that leave out at most one position, or pads",
       [](TestModel& m) {
         m.set_ints("pool", "kernel_shape", {2, 1});
         m.set_ints("pool", "strides", {1, 5});
         m.set_text("pool", "auto_pad", "SAME_LOWER");
       }},
      {"node 'pool' (MaxPool): ceil_mode = 1 with auto_pad VALID; supported: one of them",
       [](TestModel& m) {
         m.set_int("pool", "ceil_mode", 1);
         m.set_text("pool", "auto_pad", "VALID");
       }},
      {"node 'flatten' (Flatten): axis = 2; supported: 1",
       [](TestModel& m) { m.set_int("flatten", "axis", 2); }},
      {"node 'fc' (QGemm): alpha = -0.5; supported: positive float32 numbers",
       [](TestModel& m) { m.set_float("fc", "alpha", -0.5F); }},
      {"node 'fc' (QGemm): transA = 1; supported: 0",
       [](TestModel& m) { m.set_int("fc", "transA", 1); }},
      {"node 'fc' (QGemm): transB = 2; supported: 0, 1",
       [](TestModel& m) { m.set_int("fc", "transB", 2); }},
  });
}

TEST(ImporterRefuses, AttributesOfTheEndsAndUnknownOnes) {
  expect_refusals({
      {"node 'quantize' (QuantizeLinear): output_dtype = 16; supported: int8 (3), uint8 (2)",
       [](TestModel& m) { m.set_int("quantize", "output_dtype", 16); }},
      {"node 'quantize' (QuantizeLinear): block_size = 16; supported: 0",
       [](TestModel& m) { m.set_int("quantize", "block_size", 16); }},
      {"node 'dequantize' (DequantizeLinear): attribute 'zig'; supported: axis, block_size",
       [](TestModel& m) { m.set_int("dequantize", "zig", 1); }},
      {"node 'conv' (QLinearConv): attribute 'zig'; supported: auto_pad, dilations, group, "
       "kernel_shape, pads, strides",
       [](TestModel& m) { m.set_int("conv", "zig", 1); }},
      {"node 'same' (Identity): attribute 'zig'; supported: no attributes",
       [](TestModel& m) {
         m.insert_before("pool", "Identity", "same");
         m.set_int("same", "zig", 1);
       }},
  });
}

}  // namespace
}  // namespace qsim
