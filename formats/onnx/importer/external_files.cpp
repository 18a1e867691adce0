#include "formats/onnx/importer/external_files.h"

#include <set>
#include <string>

#include "formats/onnx/importer/model_file.h"

namespace qsim::formats {
namespace {

using Locations = std::set<std::string>;

void add(const onnx::TensorProto& tensor, Locations& locations) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") locations.insert(entry.value());
  }
}

void add(const onnx::SparseTensorProto& tensor, Locations& locations) {
  add(tensor.values(), locations);
  add(tensor.indices(), locations);
}

void add(const onnx::GraphProto& graph, Locations& locations);

void add(const onnx::NodeProto& node, Locations& locations) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) add(attribute.t(), locations);
    if (attribute.has_sparse_tensor()) add(attribute.sparse_tensor(), locations);
    if (attribute.has_g()) add(attribute.g(), locations);
    for (const auto& tensor : attribute.tensors()) add(tensor, locations);
    for (const auto& tensor : attribute.sparse_tensors()) add(tensor, locations);
    for (const auto& graph : attribute.graphs()) add(graph, locations);
  }
}

// Recurses as deep as protobuf parses, which is a hundred levels.
void add(const onnx::GraphProto& graph, Locations& locations) {
  for (const auto& tensor : graph.initializer()) add(tensor, locations);
  for (const auto& tensor : graph.sparse_initializer()) add(tensor, locations);
  for (const auto& node : graph.node()) add(node, locations);
}

}  // namespace

std::vector<std::filesystem::path> external_files(std::shared_ptr<const HeldFile> held) {
  const std::filesystem::path folder = held->path().parent_path();
  const std::unique_ptr<const ModelFile> file = read_model_file(std::move(held));
  Locations locations;
  add(file->proto.graph(), locations);
  for (const onnx::FunctionProto& function : file->proto.functions()) {
    for (const auto& node : function.node()) add(node, locations);
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& location : locations) files.push_back(folder / location);
  return files;
}

}  // namespace qsim::formats
