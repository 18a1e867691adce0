// What a float model may not hold is refused (exit code 4) with the node's name, what was found and
// what is supported; every such node is told.
#include <gtest/gtest.h>

#include "formats/onnx/importer/real_importer.h"
#include "tests/importer/real/real_model.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

void expect_refusals(const std::vector<RealFault>& faults) {
  expect_real_errors(ExitCode::kUnsupportedModel, faults);
}

// A second tensor of the shape of "relu.out", which no constant is.
void add_sigmoid(RealModel& model) {
  onnx::NodeProto& node = model.insert_before("pool", "Sigmoid", "sigmoid");
  node.set_input(0, "norm.out");
  model.node("pool").set_input(0, "relu.out");
}

void multiply(RealModel& model, const std::string& op_type) {
  add_sigmoid(model);
  model.insert_binary("pool", op_type, "both", "sigmoid.out");
}

TEST(FloatImportRefuses, NothingInTheModelThatTheOtherTestsBreak) {
  EXPECT_EQ(real_import_error(RealModel()), ImportError{});
}

TEST(FloatImportRefuses, QuantizedModelsByTheirFirstSuchNode) {
  EXPECT_EQ(real_import_error(TestModel()),
            (ImportError{ExitCode::kUnsupportedModel,
                         "node 'quantize' (QuantizeLinear): the model is quantized already; "
                         "supported: a float model"}));
  expect_refusals(
      {{"node 'now' (DynamicQuantizeLinear): the model is quantized already; "
        "supported: a float model",
        [](RealModel& m) { m.insert_before("pool", "DynamicQuantizeLinear", "now"); }}});
}

TEST(FloatImportRefuses, EveryNodeThatBlocksInOneError) {
  RealModel model;
  model.insert_before("pool", "Erf", "first");
  model.insert_before("flatten", "Softplus", "second");
  model.set_int("fc", "transA", 1);
  const TestFolder folder;
  model.save(folder / "model.onnx");
  const std::string path = (folder / "model.onnx").string();
  try {
    import_real_onnx(std::make_shared<const HeldFile>(path));
    ADD_FAILURE() << "imported";
  } catch (const Error& error) {
    const std::string page = "; supported: those of docs/reference/onnx.md";
    EXPECT_EQ(error.what(), path + ": node 'first' (Erf): operator Erf" + page);
    EXPECT_EQ(error.details(),
              path + ": node 'second' (Softplus): operator Softplus" + page + "\n");
  }
  model.graph().add_input()->set_name("second");  // what else is wrong does not hide them
  model.save(folder / "model.onnx");
  try {
    import_real_onnx(std::make_shared<const HeldFile>(path));
    ADD_FAILURE() << "imported";
  } catch (const Error& error) {
    EXPECT_NE(error.details().find("'first' (Erf)"), std::string::npos);
    EXPECT_NE(error.details().find("'second' (Softplus)"), std::string::npos);
  }
}

TEST(FloatImportRefuses, OtherTypesThanFloat32) {
  expect_refusals({
      {"input 'image': is float16; supported: float32",
       [](RealModel& m) {
         m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             TensorProto::FLOAT16);
       }},
      {"node 'conv' (Conv): W is int32; supported: float32",
       [](RealModel& m) { m.constant("w").set_data_type(TensorProto::INT32); }},
      {"node 'cast' (Cast): to = 10; supported: 1, the type that it reads",
       [](RealModel& m) {
         m.insert_before("pool", "Cast", "cast");
         m.set_int("cast", "to", TensorProto::FLOAT16);
       }},
  });
}

TEST(FloatImportRefuses, ProductsAndDifferencesOfTwoTensors) {
  expect_refusals({
      {"node 'both' (Mul): multiplies two tensors; supported: a tensor and a constant by channel, "
       "or its HardSigmoid, as in HardSwish",
       [](RealModel& m) { multiply(m, "Mul"); }},
      {"node 'both' (Sub): subtracts two tensors; supported: a tensor and a constant by channel",
       [](RealModel& m) { multiply(m, "Sub"); }},
      {"node 'both' (Div): divides by a tensor; supported: a tensor divided by a constant by "
       "channel",
       [](RealModel& m) { multiply(m, "Div"); }},
      {"node 'both' (Max): compares two tensors; supported: a tensor and one number",
       [](RealModel& m) { multiply(m, "Max"); }},
      {"node 'sum' (Add): reads tensors [N, C, H, W] = [1, 3, 4, 4] and [N, C, H, W] = [1, 2, 4, "
       "4]; supported: two tensors of equal shape",
       [](RealModel& m) { m.insert_binary("pool", "Add", "sum", "image"); }},
      {"node 'fc' (MatMul): B 'image' is computed; supported: a constant",
       [](RealModel& m) {
         m.node("fc").set_op_type("MatMul");
         m.drop_attribute("fc", "transB");
         m.node("fc").mutable_input()->RemoveLast();
         m.node("fc").set_input(1, "image");
       }},
  });
}

TEST(FloatImportRefuses, ConstantsThatAreNotByChannel) {
  expect_refusals({
      {"node 'add' (Add): B has shape [4, 4]; supported: one number, or one for each of 3 channels",
       [](RealModel& m) {
         m.set_numbers("c", {4, 4});
         m.insert_binary("relu", "Add", "add", "c");
       }},
      {"node 'mul' (Mul): B has shape [3]; supported: one number, or one for each of 3 channels",
       [](RealModel& m) {
         m.set_numbers("c", {3});
         m.insert_binary("relu", "Mul", "mul", "c");
       }},
      {"node 'prelu' (PRelu): slope has shape [3]; supported: one number, or one for each of 3 "
       "channels, as [3, 1, 1]",
       [](RealModel& m) {
         m.set_numbers("c", {3});
         m.insert_binary("pool", "PRelu", "prelu", "c");
       }},
      {"node 'min' (Min): bound has shape [3, 1, 1]; supported: a tensor and one number",
       [](RealModel& m) {
         m.set_numbers("c", {3, 1, 1});
         m.insert_binary("pool", "Min", "min", "c");
       }},
  });
}

TEST(FloatImportRefuses, NetworksThatTrain) {
  expect_refusals({
      {"node 'norm' (BatchNormalization): training_mode = 1; supported: 0",
       [](RealModel& m) { m.set_int("norm", "training_mode", 1); }},
      {"node 'drop' (Dropout): training_mode is not the constant false; supported: a network that "
       "is evaluated",
       [](RealModel& m) {
         m.set_constant("ratio", TensorProto::FLOAT, {}, std::string(4, '\0'));
         m.set_constant("train", TensorProto::BOOL, {}, std::string(1, '\1'));
         m.insert_binary("pool", "Dropout", "drop", "ratio").add_input("train");
       }},
  });
}

TEST(FloatImportRefuses, ShapesPadsAndOutputs) {
  expect_refusals({
      {"node 'pad' (Pad): pads with 1.000000; supported: zeros",
       [](RealModel& m) {
         m.set_opset(10);
         m.insert_before("pool", "Pad", "pad");
         m.set_ints("pad", "pads", {0, 0, 1, 1, 0, 0, 0, 0});
         m.set_float("pad", "value", 1.0F);
       }},
      {"node 'fc' (Gemm): reads a tensor [N, C, H, W] = [1, 3, 2, 2]; supported: [N, K]",
       [](RealModel& m) { m.node("fc").set_input(0, "pool.out"); }},
      {"node 'pool' (MaxPool): 2 outputs; supported: one named output",
       [](RealModel& m) {
         m.node("pool").add_output("indices");
         m.insert_binary("flatten", "Add", "use", "indices");
       }},
      {"node 'soft' (Softmax): reads a tensor [N, C, H, W] = [1, 3, 4, 4]; supported: [N, K]",
       [](RealModel& m) { m.insert_before("pool", "Softmax", "soft"); }},
      {"node 'fc' (Gemm): reads what Softmax or ArgMax gives; supported: Softmax and ArgMax at the "
       "end of the graph only",
       [](RealModel& m) { m.insert_before("fc", "Softmax", "soft"); }},
      {"output 'image.same': no layer between input and output; supported: one or more",
       [](RealModel& m) {
         m.graph().clear_node();
         onnx::NodeProto& node = *m.graph().add_node();
         node.set_op_type("Identity");
         node.add_input("image");
         node.add_output("image.same");
         m.graph().mutable_output(0)->set_name("image.same");
       }},
  });
}

TEST(FloatImportRefuses, AnotherBatchThanTheFiles) {
  RealModel model;
  auto& type = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(0)->set_dim_value(2);
  EXPECT_EQ(import_real(model).input_shape().batch, 2);
  const ImportError error = real_import_error(model, 3);
  EXPECT_EQ(error.code, ExitCode::kUnsupportedModel);
  EXPECT_NE(error.message.find("the file fixes the batch at 2"), std::string::npos);
}

TEST(FloatImport, TellsFloatFilesFromQuantizedOnes) {
  const TestFolder folder;
  RealModel().save(folder / "float.onnx");
  TestModel().save(folder / "int8.onnx");
  EXPECT_TRUE(is_float_onnx(std::make_shared<const HeldFile>(folder / "float.onnx")));
  EXPECT_FALSE(is_float_onnx(std::make_shared<const HeldFile>(folder / "int8.onnx")));
}

}  // namespace
}  // namespace qsim
