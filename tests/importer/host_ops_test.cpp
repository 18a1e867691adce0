// Softmax and ArgMax at the end of a graph: what the host is told to compute, and what is refused.
// importer.runs_random_graphs compares the numbers with ONNX Runtime's.
#include <functional>

#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/float_island.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

// fc -> QLinearSoftmax "soft" -> dequantize, of scale "s_scale" and zero_point "s_zero_point".
void add_quantized_softmax(TestModel& m) {
  m.set_scale("s_scale", {}, {0x1p-8F});
  m.set_zero_point("s_zero_point", TensorProto::UINT8, 0);
  onnx::NodeProto& soft = m.insert_before("dequantize", "QLinearSoftmax", "soft");
  soft.set_domain("com.microsoft");
  for (const char* input : {"z_scale", "z_zero_point", "s_scale", "s_zero_point"}) {
    soft.add_input(input);
  }
  m.set_int("soft", "opset", 13);
  m.node("dequantize").set_input(1, "s_scale");
  m.node("dequantize").set_input(2, "s_zero_point");
}

TEST(HostOps, AQuantizedSoftmaxAndItsScaleAreTheTail) {
  TestModel model;
  add_quantized_softmax(model);
  const Graph graph = import_model(model);
  EXPECT_TRUE(graph.host.tail.softmax);
  ASSERT_TRUE(graph.host.tail.softmax_levels.has_value());
  EXPECT_EQ(graph.host.tail.softmax_levels->scale, Scale::power_of_two(-8));
  EXPECT_TRUE(graph.host.float_output);
  EXPECT_FALSE(graph.host.tail.arg_max);
  EXPECT_EQ(graph.output_value().zero_point, 7);  // fc's own
}

TEST(HostOps, AnArgMaxOfBytesKeepsItsAxisOrNot) {
  for (const bool keeps : {true, false}) {
    TestModel model;
    model.end_after("fc", TensorProto::INT64, keeps ? 2 : 1);
    append(model, "ArgMax", "best", {"fc.out"});
    model.set_int("best", "axis", 1);
    model.set_int("best", "keepdims", keeps ? 1 : 0);
    model.graph().mutable_output(0)->set_name("best.out");
    const Graph graph = import_model(model);
    EXPECT_TRUE(graph.host.tail.arg_max);
    EXPECT_EQ(graph.host.tail.arg_max_keeps_axis, keeps);
    EXPECT_FALSE(graph.host.float_output);
  }
}

TEST(HostOps, OtherUsesAreRefusedByNode) {
  struct Case {
    std::string expected;
    std::function<void(TestModel&)> apply;
  };
  const std::vector<Case> cases = {
      {"node 'soft' (Softmax): reads no float32 numbers straight after a DequantizeLinear; "
       "supported: Softmax of the dequantized output",
       [](TestModel& m) { m.insert_before("dequantize", "Softmax", "soft"); }},
      {"node 'soft' (Softmax): axis = 0; supported: 1, -1",
       [](TestModel& m) {
         m.insert_before("dequantize", "Softmax", "soft");
         m.set_int("soft", "axis", 0);
       }},
      {"node 'dequantize' (DequantizeLinear): reads what ArgMax gives; supported: ArgMax at the "
       "end of the graph",
       [](TestModel& m) {
         m.insert_before("dequantize", "ArgMax", "best");
         m.set_int("best", "axis", 1);
       }},
      {"node 'dequantize' (DequantizeLinear): reads float32 numbers; supported: 8-bit numbers",
       [](TestModel& m) {
         m.insert_before("dequantize", "Softmax", "soft");
         onnx::NodeProto& early = m.insert_before("soft", "DequantizeLinear", "early");
         early.add_input("z_scale");
         early.add_input("z_zero_point");
       }},
      {"node 'again' (QuantizeLinear): rounds what is no Softmax; supported: a QuantizeLinear "
       "straight after Softmax",
       [](TestModel& m) {
         add_quantized_softmax(m);
         onnx::NodeProto& again = m.insert_before("dequantize", "QuantizeLinear", "again");
         again.add_input("s_scale");
         again.add_input("s_zero_point");
         onnx::NodeProto& early = m.insert_before("again", "DequantizeLinear", "early");
         early.add_input("s_scale");
         early.add_input("s_zero_point");
       }},
      {"node 'dequantize' (DequantizeLinear): reads the Softmax with another scale or "
       "zero_point; supported: its own",
       [](TestModel& m) {
         add_quantized_softmax(m);
         m.node("dequantize").set_input(1, "z_scale");
       }},
      {"node 'late' (Relu): reads what Softmax or ArgMax gives; supported: Softmax and ArgMax at "
       "the end of the graph only",
       [](TestModel& m) {
         add_quantized_softmax(m);
         m.insert_before("dequantize", "Relu", "late");
       }},
  };
  for (const Case& each : cases) {
    TestModel model;
    each.apply(model);
    EXPECT_EQ(import_error(model), (ImportError{ExitCode::kUnsupportedModel, each.expected}));
  }
}

TEST(HostOps, EveryNodeThatBlocksIsNamed) {
  TestModel model;
  model.insert_before("pool", "Erf", "first");
  model.insert_before("fc", "Celu", "second");
  const TestFolder folder;
  model.save(folder / "model.onnx");
  try {
    import_onnx(folder / "model.onnx", 1);
    ADD_FAILURE() << "is taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("node 'first' (Erf): operator Erf"),
              std::string::npos);
    EXPECT_NE(error.details().find("node 'second' (Celu): operator Celu"), std::string::npos);
    EXPECT_EQ(error.details().find("node 'fc'"), std::string::npos);
  }
}

}  // namespace
}  // namespace qsim
