#include "formats/onnx/importer/onnx_importer.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/machine/isa/commands.h"
#include "core/network/graph_cleanup.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/float_nodes.h"
#include "formats/onnx/importer/form_of_model.h"
#include "formats/onnx/importer/graph_builder.h"
#include "formats/onnx/importer/import_nodes.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/move_rewrites.h"
#include "formats/onnx/importer/node_import.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/quant_nodes.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/onnx/importer/session_rewrites.h"
#include "formats/onnx/importer/weight_bytes.h"

namespace qsim::formats {
namespace {

// The sizes of input 0 where the graph computes it and it is a tensor, not the host's.
std::optional<Shape> shape_of_input(const NodeReader& node, const GraphBuilder& graph) {
  const ImportedTensor* found = graph.find(node, 0);
  if (found == nullptr || found->kind == ImportedTensor::Kind::kConstant ||
      found->kind == ImportedTensor::Kind::kHost) {
    return std::nullopt;
  }
  return onnx_shape(found->open ? found->open->shape : graph.shape(*found), found->axes);
}

// `graph` is null where nothing is imported.
NodeRules rules_of(GraphBuilder* graph) {
  NodeRules rules;
  rules.find = [graph](const onnx::NodeProto& node) -> NodeRules::Operator {
    const ImportOperator import = find_operator(node);
    if (import == nullptr) return nullptr;
    return [import, graph](const NodeReader& reader) { import(reader, *graph); };
  };
  rules.shape_of = [graph](const NodeReader& node) { return shape_of_input(node, *graph); };
  rules.page = "docs/reference/onnx.md";
  return rules;
}

Graph graph_of(const ModelFile& file, ModelGraph& model, const ImportOptions& options,
               const std::function<void()>& require_float) {
  try {
    find_ends(file, model);
  } catch (const Error& error) {
    throw Error(error.code(), error.what(),
                NodeImport(model, rules_of(nullptr)).unknown_operators());
  }
  std::vector<ModelNode> nodes = nodes_in_order(model);
  require_quantized_form(model, nodes, RunBy::kArray, require_float);
  return import_nodes(model, std::move(nodes), options);
}

}  // namespace

Graph import_nodes(ModelGraph& model, std::vector<ModelNode> nodes, const ImportOptions& options) {
  rewrite_as_session(model, nodes);
  if (options.quantizes_before_moves) quantize_before_moves(model, nodes);
  require_memory(weight_bytes(model, nodes), model.source);
  GraphBuilder builder(model, options.batch,
                       options.rounding.value_or(RequantizerRounding::kFloat32));
  NodeImport import(model, rules_of(&builder));
  for (const ModelNode& node : nodes) import.add(node);
  import.throw_refusals();
  if (options.on_float_node) {
    for (const FloatNode& node : float_nodes(model, nodes)) options.on_float_node(node);
  }
  Graph graph = with_small_max_pools(std::move(builder).finish(), kMostPoolWindow);
  if (!options.rounding) use_shifts_where_all_can(graph);
  validate(graph);
  return graph;
}

Graph import_onnx(const std::shared_ptr<const HeldFile>& held, const ImportOptions& options) {
  if (options.batch < 1) {
    throw_bad_input("batch " + std::to_string(options.batch) + "; expected 1 or more");
  }
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.on_external);
  ModelGraph model = read_model_graph(*file);
  replace_quant_nodes(model);
  const auto require_float = [&] { static_cast<void>(import_real_onnx(held, {options.batch})); };
  Graph graph =
      with_place(model.source, [&] { return graph_of(*file, model, options, require_float); });
  held->require_unchanged();
  return graph;
}

Graph import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  return import_onnx(std::make_shared<const HeldFile>(path), options);
}

Graph import_onnx(const std::filesystem::path& path, std::int64_t batch) {
  return import_onnx(path, ImportOptions{batch});
}

}  // namespace qsim::formats
