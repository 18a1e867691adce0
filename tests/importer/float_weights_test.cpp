// The weights of float networks: which nodes have them, and in which order their numbers are.
#include "formats/onnx/importer/float_weights.h"

#include <gtest/gtest.h>

#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

onnx::ModelProto empty_model() {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->set_name("float");
  return model;
}

// 0, 1, 2, ... in that shape.
void add_constant(onnx::ModelProto& model, const std::string& name, const Shape& shape,
                  TensorProto::DataType type = TensorProto::FLOAT) {
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : shape) tensor.add_dims(dim);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    if (type == TensorProto::FLOAT) {
      tensor.add_float_data(static_cast<float>(i));
    } else {
      tensor.add_int32_data(static_cast<std::int32_t>(i));
    }
  }
}

NodeProto& add_node(onnx::ModelProto& model, const std::string& op_type, const std::string& name,
                    const std::string& weights) {
  NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  node.add_input("x");
  node.add_input(weights);
  node.add_output(name + ".out");
  return node;
}

void set_int(NodeProto& node, const std::string& name, std::int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

std::vector<FloatWeights> weights_of(const onnx::ModelProto& model) {
  const TestFolder folder;
  write_text(folder / "m.onnx", model.SerializeAsString());
  return read_float_weights(folder / "m.onnx");
}

std::vector<float> numbers(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST(FloatWeights, AreThoseOfConvolutionsAndMatricesInTheOrderOfTheFile) {
  onnx::ModelProto model = empty_model();
  add_constant(model, "k", {2, 3, 1, 2});
  add_constant(model, "m", {2, 3});
  add_node(model, "Conv", "conv", "k");
  set_int(add_node(model, "Gemm", "rows", "m"), "transB", 1);
  add_node(model, "Gemm", "columns", "m");
  add_node(model, "MatMul", "product", "m");
  const std::vector<FloatWeights> found = weights_of(model);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "conv");
  EXPECT_EQ(found[0].weights.shape, (Shape{2, 3, 1, 2}));
  EXPECT_EQ(numbers(found[0].weights), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(found[1].weights.shape, (Shape{2, 3, 1, 1}));
  EXPECT_EQ(numbers(found[1].weights), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    EXPECT_EQ(found[i].weights.shape, (Shape{3, 2, 1, 1})) << found[i].name;
    EXPECT_EQ(numbers(found[i].weights), (std::vector<float>{0, 3, 1, 4, 2, 5})) << found[i].name;
  }
}

TEST(FloatWeights, OfOtherNodesAreLeftOut) {
  onnx::ModelProto model = empty_model();
  add_constant(model, "k", {2, 1, 1, 1});
  add_constant(model, "line", {2, 3, 4});
  add_constant(model, "bytes", {2, 3}, TensorProto::INT8);
  add_constant(model, "none", {0, 3});
  add_constant(model, "m", {1, 1});
  set_int(add_node(model, "Conv", "grouped", "k"), "group", 2);
  add_node(model, "Conv", "of_one_dimension", "line");
  add_node(model, "MatMul", "integers", "bytes");
  add_node(model, "MatMul", "empty", "none");
  add_node(model, "MatMul", "of_two_activations", "grouped.out");
  add_node(model, "Mul", "factor", "m");
  add_node(model, "MatMul", "kept", "m");
  const std::vector<FloatWeights> found = weights_of(model);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "kept");
}

TEST(FloatWeights, AreMissedInAQuantizedModel) {
  const TestFolder folder;
  TestModel().save(folder / "m.onnx");
  try {
    read_float_weights(folder / "m.onnx");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_NE(std::string(error.what()).find("weights are float32 constants"), std::string::npos);
  }
}

}  // namespace
}  // namespace qsim
