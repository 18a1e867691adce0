#include "compiler/importer/real_importer.h"

#include "compiler/importer/form_of_model.h"
#include "compiler/importer/model_file.h"
#include "compiler/importer/model_graph.h"
#include "compiler/importer/node_import.h"
#include "compiler/importer/real/integer_layers.h"
#include "compiler/importer/real/real_builder.h"
#include "compiler/importer/real/real_operators.h"
#include "compiler/importer/real/weight_folding.h"
#include "compiler/importer/weight_bytes.h"
#include "core/checked_math.h"
#include "core/error.h"
#include "files/memory.h"

namespace qsim {
namespace {

std::optional<Shape> shape_of_input(const NodeReader& node, const RealBuilder& graph) {
  const RealTensor* found = graph.find(node, 0);
  if (found == nullptr || !found->tail.is_empty()) return std::nullopt;
  return onnx_shape(graph.shape(*found), found->axes);
}

// `graph` is null where nothing is imported.
NodeRules rules_of(ModelGraph& model, RealBuilder* graph) {
  NodeRules rules;
  rules.find = [&model, graph](const onnx::NodeProto& node) -> NodeRules::Operator {
    const ImportRealOperator import = find_real_operator(node);
    if (import == nullptr) return nullptr;
    return [import, &model, graph](const NodeReader& reader) {
      if (!fold_weights(model, reader, *graph)) import(reader, *graph);
    };
  };
  rules.shape_of = [graph](const NodeReader& node) { return shape_of_input(node, *graph); };
  rules.page = "docs/reference/onnx.md";
  rules.ignores_unread_outputs = true;
  return rules;
}

void refuse_quantized(const ModelGraph& model) {
  const ModelNode* node = first_quantized(model.nodes);
  if (node == nullptr) return;
  throw_unsupported(node_location(model, *node) +
                    ": the model is quantized already; supported: a float model");
}

HybridNetwork network_of(const ModelFile& file, ModelGraph& model, std::int64_t batch) {
  try {
    find_ends(file, model);
  } catch (const Error& error) {
    throw Error(error.code(), error.what(),
                NodeImport(model, rules_of(model, nullptr)).unknown_operators());
  }
  IntegerConstants integers = make_integer_layers(model);
  const std::vector<ModelNode> nodes = nodes_in_order(model);
  // Integers become float32 and int16.
  require_memory(weight_bytes(model, nodes, true) + 6 * weight_bytes(model, nodes), model.source);
  RealBuilder builder(model, batch);
  for (auto& [name, each] : integers) builder.set_integers(name, std::move(each));
  NodeImport import(model, rules_of(model, &builder));
  for (const ModelNode& node : nodes) import.add(node);
  import.throw_refusals();
  HybridNetwork network = std::move(builder).finish();
  validate(network.graph);
  return network;
}

HybridNetwork import_network(const std::shared_ptr<const HeldFile>& held,
                             const RealImportOptions& options, bool may_be_quantized) {
  if (options.batch < 1) {
    throw_bad_input("batch " + std::to_string(options.batch) + "; expected 1 or more");
  }
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.on_external);
  ModelGraph model = read_model_graph(*file);
  HybridNetwork network = with_place(model.source, [&] {
    if (!may_be_quantized) refuse_quantized(model);
    return network_of(*file, model, options.batch);
  });
  held->require_unchanged();
  return network;
}

}  // namespace

RealGraph import_real_onnx(const std::shared_ptr<const HeldFile>& held,
                           const RealImportOptions& options) {
  return import_network(held, options, false).graph;
}

HybridNetwork import_hybrid_onnx(const std::shared_ptr<const HeldFile>& held,
                                 const RealImportOptions& options) {
  return import_network(held, options, true);
}

bool is_hybrid_onnx(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  const ModelGraph model = read_model_graph(*file);
  return first_hybrid(model, model.nodes) != nullptr;
}

bool is_float_onnx(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  return first_quantized(read_model_graph(*file).nodes) == nullptr;
}

}  // namespace qsim
