// ONNX's own operator tests, as Debian packages them: each of the models either imports, and then
// gives the outputs that come with it, or is refused by the name of a node or operator. Their
// scales, weights and shapes are inputs; they are made constants here, which is what the importer
// reads them from.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "formats/onnx/importer/tensor_proto.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/onnx_layout.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "/usr/share/libonnx-testdata/data/node";

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Tensor read_tensor(const fs::path& path) {
  onnx::TensorProto proto;
  QSIM_CHECK(proto.ParseFromString(read_bytes(path)), path.string());
  return whole_tensor(store_tensor(proto, {path.parent_path()}, path.string()));
}

onnx::ModelProto read_model(const fs::path& test) {
  onnx::ModelProto model;
  QSIM_CHECK(model.ParseFromString(read_bytes(test / "model.onnx")), test.string());
  return model;
}

// Turns every input but the first into an initializer with the first data set's values.
void bind_inputs(onnx::ModelProto& model, const fs::path& test) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 1; i < graph.input_size(); ++i) {
    const std::string file = "input_" + std::to_string(i) + ".pb";
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.ParseFromString(read_bytes(test / "test_data_set_0" / file));
    tensor.set_name(graph.input(i).name());
  }
}

// Pictures [N, C, H, W] of bytes, or vectors [N, K].
void expect_output(const fs::path& test, const Graph& graph) {
  const fs::path data = test / "test_data_set_0";
  Tensor input = read_tensor(data / "input_0.pb");
  if (input.shape.size() == 2) input.shape = {input.shape[0], input.shape[1], 1, 1};
  input = from_nchw(input);
  const Tensor output = golden::run_graph(graph, input).back();
  EXPECT_EQ(to_model_layout(output, graph.host.layout, graph.host.flat_output),
            read_tensor(data / "output_0.pb"));
}

// A refusal that comes before any node: opset, inputs, outputs.
bool names_the_model(const std::string& message) {
  const char* starts[] = {"opset ",   "no opset_import", "input '",
                          "no input", "output",          "a float model"};
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](const char* start) { return message.starts_with(start); });
}

// "node 3 (Add): " or "node 'sum' (Add): " of one of the model's nodes.
bool names_a_node(const onnx::ModelProto& model, const std::string& message) {
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = model.graph().node(i);
    const std::string name = node.name().empty() ? std::to_string(i) : "'" + node.name() + "'";
    if (message.starts_with("node " + name + " (" + node.op_type() + "): ")) return true;
  }
  return false;
}

TEST(OnnxNodeTests, EachIsSupportedAndRightOrRefusedByName) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "skipped: no libonnx-testdata";
  const TestFolder folder;
  const fs::path path = folder / "model.onnx";
  std::set<std::string> supported;
  int refused = 0;
  int by_node = 0;
  for (const fs::directory_entry& test : fs::directory_iterator(kFolder)) {
    const std::string name = test.path().filename().string();
    SCOPED_TRACE(name);
    onnx::ModelProto model = read_model(test.path());
    bind_inputs(model, test.path());
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    const ImportError error = import_error(path);
    if (error.code == ExitCode::kOk) {
      supported.insert(name);
      expect_output(test.path(), import_onnx(path));
      continue;
    }
    ++refused;
    EXPECT_EQ(error.code, ExitCode::kUnsupportedModel) << error;
    EXPECT_TRUE(names_the_model(error.message) || names_a_node(model, error.message)) << error;
    by_node += names_a_node(model, error.message) ? 1 : 0;
  }
  std::cout << supported.size() << " supported and right, " << refused << " refused: " << by_node
            << " by node, the others by opset, input or output\n";
  EXPECT_EQ(supported, (std::set<std::string>{"test_maxpool_2d_uint8", "test_qlinearconv",
                                              "test_qlinearmatmul_2D"}));
  EXPECT_EQ(refused, 929);
}

}  // namespace
}  // namespace qsim
