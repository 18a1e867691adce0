#include "compiler/importer/onnx_importer.h"

#include "compiler/importer/float_nodes.h"
#include "compiler/importer/form_of_model.h"
#include "compiler/importer/graph_builder.h"
#include "compiler/importer/model_file.h"
#include "compiler/importer/model_graph.h"
#include "compiler/importer/node_import.h"
#include "compiler/importer/operators.h"
#include "compiler/importer/real_importer.h"
#include "compiler/importer/session_rewrites.h"
#include "compiler/importer/weight_bytes.h"
#include "core/checked_math.h"
#include "core/error.h"
#include "core/graph_cleanup.h"
#include "core/printable.h"
#include "files/memory.h"

namespace qsim {
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
  require_quantized_form(model, nodes, require_float);
  rewrite_as_session(model, nodes);
  require_memory(weight_bytes(model, nodes), model.source);
  GraphBuilder builder(model, options.batch,
                       options.rounding.value_or(RequantizerRounding::kFloat32));
  NodeImport import(model, rules_of(&builder));
  for (const ModelNode& node : nodes) import.add(node);
  import.throw_refusals();
  if (options.on_float_node) {
    for (const FloatNode& node : float_nodes(model, nodes)) options.on_float_node(node);
  }
  Graph graph = std::move(builder).finish();
  if (!options.rounding) use_shifts_where_all_can(graph);
  validate(graph);
  return graph;
}

}  // namespace

Graph import_onnx(const std::shared_ptr<const HeldFile>& held, const ImportOptions& options) {
  if (options.batch < 1) {
    throw_bad_input("batch " + std::to_string(options.batch) + "; expected 1 or more");
  }
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.on_external);
  ModelGraph model = read_model_graph(*file);
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

}  // namespace qsim
