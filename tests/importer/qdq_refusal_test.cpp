// QDQ and QOperator graphs that are not supported or malformed: each message, by node.
#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "formats/onnx/importer/real_importer.h"
#include "tests/importer/float_island.h"
#include "tests/importer/refusal_cases.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

// 1x1, 2 to 5 channels.
void float_convolution(TestModel& m) {
  m.graph().clear_node();
  m.set_constant("real_weights", onnx::TensorProto::FLOAT, {5, 2, 1, 1},
                 std::string(10 * sizeof(float), '\0'));
  append(m, "Conv", "conv", {"image", "real_weights"});
  m.end_after("conv", TensorProto::FLOAT, 4);
}

TEST(QdqRefuses, WholeModelsByWhatTheyAre) {
  expect_refusals(
      kUnsupported,
      {{"a float model: none of its 1 layers with weights is quantized; quantize it first: `qsim "
        "quantize MODEL --calibrate DIR -o out.onnx`",
        [](TestModel& m) { float_convolution(m); }},
       {"a float model: none of its 1 layers with weights is quantized; quantize it first: `qsim "
        "quantize MODEL --calibrate DIR -o out.onnx`",
        [](TestModel& m) {
          float_convolution(m);
          append(m, "Shrink", "shrink", {"conv.out"});
          m.end_after("shrink", TensorProto::FLOAT, 4);
        }},
       {"a float model: none of its 1 layers with weights is quantized; quantize it first, by ONNX "
        "Runtime's quantize_static; `qsim quantize` does not take it: node 'shrink' (Shrink): "
        "attribute 'many': is of another type; supported: numbers, texts, tensors, a graph",
        [](TestModel& m) {
          float_convolution(m);
          onnx::AttributeProto& many = *append(m, "Shrink", "shrink", {"conv.out"}).add_attribute();
          many.set_name("many");
          many.set_type(onnx::AttributeProto::TENSORS);
          m.end_after("shrink", TensorProto::FLOAT, 4);
        }},
       {"node 'now' (DynamicQuantizeLinear): dynamic quantization: the accelerator finds no ranges "
        "while it runs; run it by `qsim golden run`, or quantize the float model that it was made "
        "of: `qsim quantize`",
        [](TestModel& m) { m.insert_before("quantize", "DynamicQuantizeLinear", "now"); }}});
}

// A convolution in float32 and another node.
void float_model_with(TestModel& m, const char* domain, const char* op_type) {
  m.graph().clear_node();
  append(m, op_type, "other", {"image"}).set_domain(domain);
  append(m, "Conv", "conv", {"other.out"}).set_output(0, "scores");
  if (*domain == 0 || std::string(domain) == "com.microsoft") return;  // which the file has
  onnx::OperatorSetIdProto& opset = *m.proto.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(1);
}

// `qsim quantize` refuses them, so the message does not send the user there.
TEST(QdqRefuses, ModelsOfAnotherToolsOperatorsWithoutCallingThemFloat) {
  const std::string end =
      " is quantization of another tool; supported: QuantizeLinear, DequantizeLinear and those of "
      "docs/reference/onnx.md; export the network with these";
  const std::vector<std::array<const char*, 3>> quantizing = {
      {"onnx.brevitas", "Quant", "onnx.brevitas Quant"},
      {"PACTOps", "RequantShift", "PACTOps RequantShift"},
      {"", "RequantShift", "RequantShift"},
      {"com.microsoft", "MatMulNBits", "com.microsoft MatMulNBits"},
      {"org.openvinotoolkit", "FakeQuantize", "org.openvinotoolkit FakeQuantize"},
      {"com.vai.quantize", "VitisQuantizeLinear", "com.vai.quantize VitisQuantizeLinear"}};
  for (const auto& [domain, op_type, name] : quantizing) {
    TestModel model;
    float_model_with(model, domain, op_type);
    const std::string node = std::string("node 'other' (") + op_type + "): ";
    EXPECT_EQ(import_error(model), (ImportError{kUnsupported, node + "operator " + name + end}));
    const TestFolder folder;
    model.save(folder / "m.onnx");
    const auto held = std::make_shared<const HeldFile>(folder / "m.onnx");
    EXPECT_FALSE(is_float_onnx(held)) << name;
    try {
      import_real_onnx(held);
      ADD_FAILURE() << name << " is imported";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), (folder / "m.onnx").string() + ": " + node +
                                  "the model is quantized already; supported: a float model");
    }
  }
  TestModel vendor;
  float_model_with(vendor, "my.vendor", "Foo");
  EXPECT_EQ(import_error(vendor),
            (ImportError{kUnsupported,
                         "node 'other' (Foo): operator my.vendor Foo; supported: those of "
                         "docs/reference/onnx.md"}));
}

TEST(QdqRefuses, FloatNumbersThatNoQuantizeLinearRounds) {
  const std::string between =
      "; supported: a QuantizeLinear and a DequantizeLinear between the two";
  expect_refusals(
      kUnsupported,
      {{"node 'second' (GlobalAveragePool): reads float32 numbers of an activation" + between,
        [](TestModel& m) {
          island(m, "Sigmoid");
          m.insert_before("again", "GlobalAveragePool", "second");
        }},
       {"node 'second' (GlobalAveragePool): reads float32 numbers of 'op'" + between,
        [](TestModel& m) {
          island(m, "GlobalAveragePool");
          m.insert_before("again", "GlobalAveragePool", "second");
        }},
       {"node 'second' (MaxPool): reads float32 of an activation that is not monotone" + between,
        [](TestModel& m) {
          island(m, "Mul").add_input("minus");
          m.set_scale("minus", {}, {-1.0F});
          m.insert_before("again", "MaxPool", "second");
        }},
       {"node 'relu' (Relu): reads float32 numbers that another node reads too" + between,
        [](TestModel& m) {
          island(m, "GlobalAveragePool");
          m.insert_before("again", "Relu", "relu");
          m.insert_before("pool", "Add", "sum").add_input("op.out");
        }},
       {"node 'op' (Mul): multiplies a tensor and float32 numbers of an activation of another "
        "tensor; supported: a QuantizeLinear and a DequantizeLinear after the activation",
        [](TestModel& m) {
          island(m, "Mul").add_input("second.out");
          m.insert_before("op", "Sigmoid", "table");
          close(m, "table", "op");
          append(m, "Sigmoid", "second", {"early.out"});
        }},
       {"node 'once' (Requantize): operator Requantize; supported: those of "
        "docs/reference/onnx.md",
        [](TestModel& m) { m.insert_before("pool", "Requantize", "once"); }}});
}

TEST(QdqRefuses, DilatedAveragePools) {
  expect_refusals(kUnsupported, {{"node 'op' (AveragePool): dilations = [2, 1]; supported: [1, 1]",
                                  [](TestModel& m) {
                                    island(m, "AveragePool");
                                    m.set_ints("op", "kernel_shape", {2, 2});
                                    m.set_ints("op", "dilations", {2, 1});
                                  }}});
}

TEST(QdqRefuses, TwoRoundingsOfTheInput) {
  expect_refusals(
      kUnsupported,
      {{"node 'other' (QuantizeLinear): rounds the input to scale 0.125, zero_point 5; supported: "
        "one QuantizeLinear of the input, to scale 0.0625, zero_point 3",
        [](TestModel& m) {
          append(m, "QuantizeLinear", "other", {"image", "y_scale", "y_zero_point"});
          append(m, "DequantizeLinear", "other.dq", {"other.out", "y_scale", "y_zero_point"});
          append(m, "DequantizeLinear", "own.dq", {"conv.out", "y_scale", "y_zero_point"});
          add_sum(m, "own.dq.out", "other.dq.out");
        }}});
}

TEST(QdqRefuses, OutputsInFloat) {
  const std::string supported = "; supported: int8, uint8, or float32 after a DequantizeLinear";
  expect_refusals(kUnsupported,
                  {{"output 'op.out': is float32 of 'op' without a QuantizeLinear" + supported,
                    [](TestModel& m) {
                      island(m, "GlobalAveragePool");
                      end_with_island(m);
                    }},
                   {"output 'op.out': is float32 of an activation" + supported, [](TestModel& m) {
                      island(m, "Sigmoid");
                      end_with_island(m);
                    }}});
}

TEST(QdqRefuses, OperandsOfAddMulAndConcat) {
  expect_refusals(
      kUnsupported,
      {{"node 'op' (Add): reads tensors [N, C, H, W] = [1, 3, 4, 4] and [N, C, H, W] = [1, 2, 4, "
        "4]; supported: two tensors of equal shape",
        [](TestModel& m) { island(m, "Add").add_input(dequantized_input(m)); }},
       {"node 'op' (Add): operand 'three' is a constant float32 [3]; supported: one float32 "
        "number, or a tensor that the graph computes",
        [](TestModel& m) {
          island(m, "Add").add_input("three");
          m.set_scale("three", {3}, {1.0F, 2.0F, 3.0F});
        }},
       {"node 'op' (Add): operand 'early.out' has scale 0.125, 256 times the output's "
        "0.00048828125; "
        "supported: 2^-16 times or more, and less than 2^8 times",
        [](TestModel& m) {
          island(m, "Add").add_input("early.out");
          m.set_scale("sum_scale", {}, {0x1p-11F});
          m.node("again").set_input(1, "sum_scale");
        }},
       {"node 'op' (Concat): axis = 2 of [N, C, H, W]; supported: the channels' axis",
        [](TestModel& m) {
          island(m, "Concat").add_input("early.out");
          m.set_int("op", "axis", 2);
        }},
       {"node 'op' (Mul): multiplies two tensors; supported: a tensor and a function of it, as in "
        "HardSwish",
        [](TestModel& m) { island(m, "Mul").add_input(dequantized_input(m)); }},
       {"node 'op' (PRelu): slope has shape [3]; supported: one number, or one for each of 3 "
        "channels, as [3, 1, 1]",
        [](TestModel& m) {
          island(m, "PRelu").add_input("slope");
          m.set_scale("slope", {3}, {0.5F, 0.25F, 1.0F});
        }},
       {"node 'op' (PRelu): slope is int8; supported: float32",
        [](TestModel& m) {
          island(m, "PRelu").add_input("slope");
          m.set_constant("slope", TensorProto::INT8, {1}, "a");
        }},
       {"node 'op' (PRelu): slope 'conv.out' is computed; supported: a constant",
        [](TestModel& m) { island(m, "PRelu").add_input("conv.out"); }},
       {"node 'slopes' (DequantizeLinear): axis = 1 of [3, 1, 1]; supported: the axis that has all "
        "its numbers",
        [](TestModel& m) {
          island(m, "PRelu").add_input("slopes.out");
          append(m, "DequantizeLinear", "slopes", {"q", "q_scale"});
          m.set_constant("q", TensorProto::INT8, {3, 1, 1}, "abc");
          m.set_scale("q_scale", {3}, {0.25F, 0.5F, 1.0F});
        }},
       {"node 'op' (PRelu): slope is transposed; supported: a constant, or a DequantizeLinear of "
        "one",
        [](TestModel& m) {
          island(m, "PRelu").add_input("turned.out");
          append(m, "DequantizeLinear", "slopes", {"q", "q_scale"});
          append(m, "Transpose", "turned", {"slopes.out"});
          m.set_constant("q", TensorProto::INT8, {3, 1}, "abc");
          m.set_scale("q_scale", {}, {0.25F});
        }},
       {"node 'relu' (Relu): reads float32 numbers of 'op'; supported: a QuantizeLinear and a "
        "DequantizeLinear between the two",
        [](TestModel& m) {
          island(m, "PRelu").add_input("slope");
          m.set_scale("slope", {3, 1, 1}, {0.5F, 0.25F, 1.0F});
          m.insert_before("again", "Relu", "relu");
        }},
       {"node 'pool' (MaxPool): reads a constant; supported: a tensor that the graph computes",
        [](TestModel& m) {
          append(m, "DequantizeLinear", "fixed", {"w", "z_scale", "w_zero_point"});
          m.node("pool").set_input(0, "fixed.out");
        }}});
  expect_refusals(
      ExitCode::kBadInput,
      {{"node 'op' (PRelu): slope has inf; expected finite numbers",
        [](TestModel& m) {
          island(m, "PRelu").add_input("slope");
          m.set_scale("slope", {}, {INFINITY});
        }},
       {"node 'op' (Concat): reads tensors [N, C, H, W] = [1, 3, 4, 4] and [N, C, H, W] = "
        "[1, 3, 1, 1]; expected tensors that differ in channels alone",
        [](TestModel& m) {
          island(m, "Concat").add_input("small.dq.out");
          append(m, "DequantizeLinear", "whole", {"conv.out", "y_scale", "y_zero_point"});
          append(m, "GlobalAveragePool", "small", {"whole.out"});
          append(m, "QuantizeLinear", "small.q", {"small.out", "y_scale", "y_zero_point"});
          append(m, "DequantizeLinear", "small.dq", {"small.q.out", "y_scale", "y_zero_point"});
        }},
       {"node 'pool' (MaxPool): input 0 is absent; expected a tensor",
        [](TestModel& m) { m.node("pool").set_input(0, ""); }},
       {"node 'op' (Clip): a bound is not a number; expected numbers", [](TestModel& m) {
          island(m, "Clip").add_input("low");
          m.set_scale("low", {}, {std::nanf("")});
        }}});
}

TEST(QdqRefuses, AxesAndPerms) {
  expect_refusals(
      kUnsupported,
      {{"node 'op' (ReduceMean): axes = [1, 2] of [N, C, H, W]; supported: height and width of "
        "pictures",
        [](TestModel& m) {
          island(m, "ReduceMean");
          m.set_ints("op", "axes", {2, 1});
        }},
       {"node 'op' (Squeeze): axes = [2, 3] of [1, 3, 4, 4]; supported: height and width of "
        "one-pixel pictures",
        [](TestModel& m) {
          island(m, "Squeeze").add_input("sides");
          set_int64s(m, "sides", {2, -1});
        }},
       {"node 'op' (Unsqueeze): axes = [0] of [1, 3, 4, 4]; supported: [2, 3] of [N, K]",
        [](TestModel& m) {
          island(m, "Unsqueeze").add_input("sides");
          set_int64s(m, "sides", {0});
        }},
       {"node 'op' (Cast): to = 2; supported: 1, the type that it reads",
        [](TestModel& m) {
          island(m, "Cast");
          m.set_int("op", "to", 2);
        }},
       {"node 'turn' (Transpose): perm = [0, 1] of the constant 'fc_w' [5, 12]; supported: perm "
        "[1, 0] of a matrix",
        [](TestModel& m) {
          append(m, "DequantizeLinear", "fixed", {"fc_w", "fc_w_scale", "fc_w_zero_point"});
          append(m, "Transpose", "turn", {"fixed.out"});
          m.set_ints("turn", "perm", {0, 1});
          island(m, "MatMul").add_input("turn.out");
        }},
       {"node 'turn' (Transpose): perm = [2, 3, 1, 0] of the constant 'k' [3, 3, 1, 1]; supported: "
        "perm [1, 0] of a matrix",
        [](TestModel& m) {
          m.set_constant("k", TensorProto::INT8, {3, 3, 1, 1}, std::string(9, 'a'));
          m.set_scale("k_scale", {}, {0.5F});
          append(m, "DequantizeLinear", "fixed", {"k", "k_scale"});
          append(m, "Transpose", "turn", {"fixed.out"});
          m.set_ints("turn", "perm", {2, 3, 1, 0});
          island(m, "Conv").add_input("turn.out");
        }},
       {"node 'own' (QuantizeLinear): quantizes the constant 'k'; supported: weights and biases "
        "that are integers in the file, before a DequantizeLinear",
        [](TestModel& m) {
          m.set_constant("k", TensorProto::FLOAT, {3, 3, 1, 1}, std::string(36, '\0'));
          m.set_scale("k_scale", {3}, {0.5F, 0.25F, 1.0F});
          append(m, "QuantizeLinear", "own", {"k", "k_scale"});
          append(m, "DequantizeLinear", "fixed", {"own.out", "k_scale"});
          island(m, "Conv").add_input("fixed.out");
        }}});
}

}  // namespace
}  // namespace qsim
