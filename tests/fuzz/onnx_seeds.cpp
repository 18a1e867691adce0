#include "tests/fuzz/onnx_seeds.h"

#include <onnx/onnx_pb.h>

#include "files/files.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"

namespace qsim::fuzz {
namespace {

constexpr int kNeighbourBytes = 64;  // of weights.bin beside the model, see onnx_target.cpp

onnx::ModelProto model_of(const Graph& graph) {
  const Folder folder;
  write_onnx(graph, folder.path() / "model.onnx");
  onnx::ModelProto model;
  model.ParseFromString(read_text_file(folder.path() / "model.onnx"));
  return model;
}

onnx::NodeProto* node_of(onnx::ModelProto& model, const std::string& op_type) {
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == op_type) return &node;
  }
  return nullptr;
}

// A model of random_chain that has such a node.
onnx::ModelProto model_with(const std::string& op_type) {
  for (std::uint64_t seed = 1;; ++seed) {
    onnx::ModelProto model = model_of(random_chain(seed));
    if (node_of(model, op_type) != nullptr) return model;
  }
}

// Flatten as Reshape to [0, -1]; the shape by a Constant node or an initializer.
std::string with_reshape(bool constant_node) {
  onnx::ModelProto model = model_with("Flatten");
  onnx::NodeProto& node = *node_of(model, "Flatten");
  node.set_op_type("Reshape");
  node.clear_attribute();
  node.add_input("new_shape");
  onnx::GraphProto& graph = *model.mutable_graph();
  if (constant_node) {
    onnx::NodeProto& constant = *graph.add_node();
    constant.set_op_type("Constant");
    constant.add_output("new_shape");
    onnx::AttributeProto& value = *constant.add_attribute();
    value.set_name("value_ints");
    value.set_type(onnx::AttributeProto::INTS);
    value.add_ints(0);
    value.add_ints(-1);
  } else {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name("new_shape");
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(2);
    tensor.add_int64_data(0);
    tensor.add_int64_data(-1);
  }
  return model.SerializeAsString();
}

std::string with_automatic_padding(const std::string& mode) {
  onnx::ModelProto model = model_of(random_convolution(2));
  onnx::NodeProto& node = *node_of(model, "QLinearConv");
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    if (node.attribute(i).name() == "pads") node.mutable_attribute()->DeleteSubrange(i, 1);
  }
  onnx::AttributeProto& pads = *node.add_attribute();
  pads.set_name("auto_pad");
  pads.set_type(onnx::AttributeProto::STRING);
  pads.set_s(mode);
  auto* shape = model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  for (auto& dim : *shape->mutable_shape()->mutable_dim()) dim.set_dim_param("any");
  return model.SerializeAsString();
}

std::string with_external_data() {
  onnx::ModelProto model = model_of(random_chain(4));
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const auto bytes = static_cast<int>(tensor.raw_data().size());
    if (tensor.data_type() != onnx::TensorProto::INT8 || bytes == 0 ||
        bytes > kNeighbourBytes / 2) {
      continue;
    }
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "weights.bin"},
                                     {"offset", "16"},
                                     {"length", std::to_string(bytes)}}) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  return model.SerializeAsString();
}

}  // namespace

std::vector<std::string> edited_models() {
  return {with_reshape(true), with_reshape(false), with_automatic_padding("SAME_UPPER"),
          with_automatic_padding("SAME_LOWER"), with_external_data()};
}

}  // namespace qsim::fuzz
