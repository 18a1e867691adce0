// Weights, moves and pads of convolutions that are written by their phases. What they compute is
// compared with ONNX Runtime in tests/onnx/host/hosted_test.py.
#include "formats/onnx/importer/phase_convolutions.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/part_rewrites.h"
#include "tests/test_folder.h"

namespace qsim {

using namespace formats;
namespace {

using Integers = std::vector<std::int64_t>;

// x uint8 -> DequantizeLinear -> "layer", of uint8 weights of zero_point 9 -> QuantizeLinear -> y.
class PhaseConvolutionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    proto_.set_ir_version(8);
    proto_.add_opset_import()->set_version(13);
    auto& input = *proto_.mutable_graph()->add_input();
    input.set_name("x");
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
    proto_.mutable_graph()->add_output()->set_name("y");
    constant("scale", Tensor(DType::kFloat32, {}));
    constant("zero", bytes({}, {9}));
    node("DequantizeLinear", {"x", "scale", "zero"}, "real_x");
    node("DequantizeLinear", {"w", "scale", "zero"}, "real_w");
  }

  static Tensor bytes(const Shape& shape, const std::vector<std::uint8_t>& values) {
    Tensor tensor(DType::kUint8, shape);
    std::ranges::copy(values, tensor.as<std::uint8_t>().begin());
    return tensor;
  }

  void constant(const std::string& name, const Tensor& tensor) {
    onnx::TensorProto& made = *proto_.mutable_graph()->add_initializer();
    made = proto_of(tensor);
    made.set_name(name);
  }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& made = *proto_.mutable_graph()->add_node();
    made.set_op_type(op);
    made.set_name(output);
    for (const std::string& name : inputs) made.add_input(name);
    made.add_output(output);
    return made;
  }

  // The layer and its output's levels; shapes are those of x and of the output.
  void rewrite(const std::string& op, const std::map<std::string, Integers>& attributes,
               const Tensor& weights, const Shape& x, const Shape& y) {
    constant("w", weights);
    onnx::NodeProto& layer = node(op, {"real_x", "real_w"}, "layer");
    for (const auto& [name, values] : attributes) {
      onnx::AttributeProto& attribute = *layer.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t value : values) attribute.add_ints(value);
    }
    node("QuantizeLinear", {"layer", "scale", "zero"}, "y");
    const std::string path = folder_.write("model.onnx", proto_.SerializeAsString());
    file_ = read_model_file(std::make_shared<const HeldFile>(path));
    model_ = read_model_graph(*file_);
    HostNetwork network = import_host_network(*file_);
    for (HostValue& value : network.values) {
      const bool is_input = value.name == "x" || value.name == "real_x";
      const bool is_output = value.name == "y" || value.name == "layer";
      if (!is_input && !is_output) continue;
      value.array.known = HostArray::Known::kShape;
      value.array.tensor.dtype = DType::kUint8;
      value.array.tensor.shape = is_input ? x : y;
    }
    made_ = rewrite_by_phases(model_, network, {2});
  }

  const onnx::NodeProto* made(const std::string& name) const {
    const auto found = std::ranges::find_if(
        model_.nodes, [&](const ModelNode& node) { return node.proto->name() == name; });
    return found == model_.nodes.end() ? nullptr : found->proto;
  }
  Integers integers(const std::string& name, const std::string& attribute) const {
    const auto* const found = find_attribute(*made(name), attribute);
    return {found->ints().begin(), found->ints().end()};
  }
  Integers numbers(const std::string& name) const {
    const std::string& raw = model_.constant(name)->raw_data();
    Integers read(raw.size() / sizeof(std::int64_t));
    std::memcpy(read.data(), raw.data(), raw.size());
    return read;
  }
  std::vector<int> weights() const {
    const std::string& raw = model_.constant("layer_weight_levels_by_phase")->raw_data();
    return {raw.begin(), raw.end()};
  }
  std::vector<std::string> operators() const {
    std::vector<std::string> names;
    for (const ModelNode& node : model_.nodes) names.push_back(node.proto->op_type());
    return names;
  }

  TestFolder folder_;
  onnx::ModelProto proto_;
  std::unique_ptr<const ModelFile> file_;
  ModelGraph model_;
  PhaseConvolutions made_;
};

TEST_F(PhaseConvolutionsTest, PhasesOfATransposedConvolutionAreOutputChannels) {
  rewrite("ConvTranspose", {{"strides", {2}}, {"pads", {1, 1}}}, bytes({1, 1, 3}, {1, 2, 3}),
          {1, 1, 4}, {1, 1, 7});
  EXPECT_EQ(made_.convolutions, (std::set<int>{2}));
  EXPECT_EQ(weights(), (std::vector<int>{3, 1, 9, 2}));  // the last tap first, and one that is not
  EXPECT_EQ(made("layer")->op_type(), "Conv");
  EXPECT_EQ(integers("layer", "pads"), (Integers{1, 0}));
  EXPECT_EQ(operators(), (std::vector<std::string>{
                             "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv",
                             "Reshape", "Transpose", "Reshape", "Slice", "QuantizeLinear"}));
  EXPECT_EQ(made("y")->output(0), "y_by_phase");
  EXPECT_EQ(made("layer/Slice")->output(0), "y");
  EXPECT_EQ(numbers(made("layer/Slice")->input(1)), (Integers{1}));
  EXPECT_EQ(numbers(made("layer/Slice")->input(2)), (Integers{8}));
  ASSERT_EQ(made_.moves.size(), 4U);
  EXPECT_EQ(made_.moves.begin()->second, "it moves levels for 'layer', which is the array's");
}

TEST_F(PhaseConvolutionsTest, ATransposedConvolutionOfStride1TurnsItsKernelAlone) {
  rewrite("ConvTranspose", {{"pads", {1, 0}}, {"dilations", {2}}}, bytes({1, 1, 3}, {1, 2, 3}),
          {1, 1, 4}, {1, 1, 7});
  EXPECT_EQ(weights(), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(integers("layer", "pads"), (Integers{3, 4}));
  EXPECT_EQ(integers("layer", "dilations"), (Integers{2}));
  EXPECT_TRUE(made_.moves.empty());
}

TEST_F(PhaseConvolutionsTest, PhasesOfAConvolutionsInputAreInputChannels) {
  rewrite("Conv", {{"strides", {8}}, {"pads", {3, 0}}},
          bytes({1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10}), {1, 1, 25}, {1, 1, 3});
  EXPECT_EQ(weights(), (std::vector<int>{0, 8, 1, 10, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 7, 9}));
  EXPECT_EQ(numbers(made("layer/Pad")->input(1)), (Integers{0, 0, 3, 0, 0, 4}));
  EXPECT_EQ(integers("layer", "pads"), (Integers{0, 0}));
  EXPECT_EQ(numbers(made("layer/Reshape")->input(1)), (Integers{0, 1, 4, 8}));
  EXPECT_EQ(made("y")->output(0), "y");
}

TEST_F(PhaseConvolutionsTest, AConvolutionThatTheCommandsHaveStaysAsItIs) {
  rewrite("Conv", {{"strides", {7}}}, bytes({1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), {1, 1, 24},
          {1, 1, 3});
  EXPECT_TRUE(made_.convolutions.empty());
  EXPECT_EQ(made("layer")->input(0), "real_x");
}

// 64 channels for the one tap of each would cost the array more than they save the host.
TEST_F(PhaseConvolutionsTest, AStrideFarBeyondTheKernelStaysTheHosts) {
  rewrite("Conv", {{"strides", {8, 8}}}, bytes({1, 1, 1, 1}, {1}), {1, 1, 24, 24}, {1, 1, 3, 3});
  EXPECT_TRUE(made_.convolutions.empty());
}

}  // namespace
}  // namespace qsim
