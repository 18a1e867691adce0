#include "compiler/importer/onnx_importer.h"

#include <array>
#include <string_view>

#include "compiler/importer/graph_builder.h"
#include "compiler/importer/model_file.h"
#include "compiler/importer/model_graph.h"
#include "compiler/importer/operators.h"
#include "compiler/importer/weight_bytes.h"
#include "core/checked_math.h"
#include "core/error.h"
#include "core/printable.h"
#include "files/memory.h"

namespace qsim {
namespace {

struct Operator {
  std::string_view domain;
  std::string_view op_type;
  void (*import)(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
};

constexpr std::string_view kOnnx;
constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr std::array kOperators = {
    Operator{kOnnx, "QuantizeLinear", import_quantize_linear},
    Operator{kOnnx, "QLinearConv", import_qlinear_conv},
    Operator{kOnnx, "QLinearMatMul", import_qlinear_matmul},
    Operator{kMicrosoft, "QGemm", import_qgemm},
    Operator{kOnnx, "MaxPool", import_max_pool},
    Operator{kOnnx, "Relu", import_relu},
    Operator{kOnnx, "Flatten", import_flatten},
    Operator{kOnnx, "Reshape", import_reshape},
    Operator{kOnnx, "Identity", import_identity},
    Operator{kOnnx, "Transpose", import_transpose},
    Operator{kOnnx, "DequantizeLinear", import_dequantize_linear},
};

std::string operator_names() {
  std::string names;
  for (const Operator& known : kOperators) {
    names += (names.empty() ? "" : ", ") + std::string(known.domain) +
             (known.domain.empty() ? "" : " ") + std::string(known.op_type);
  }
  return names;
}

const Operator& find_operator(const ModelGraph& model, const ModelNode& node) {
  const std::string& domain = node.proto->domain();
  const std::string_view canonical = domain == "ai.onnx" ? kOnnx : std::string_view(domain);
  for (const Operator& known : kOperators) {
    if (known.domain == canonical && known.op_type == node.proto->op_type()) return known;
  }
  throw_unsupported(node_location(model, node) + ": operator " + echoed(domain) +
                    (domain.empty() ? "" : " ") + echoed(node.proto->op_type()) +
                    "; supported: " + operator_names());
}

Graph graph_of(const ModelFile& file, ModelGraph& model, std::int64_t batch) {
  // An unsupported operator is what a user wants to hear of first, before any edge of the graph.
  for (const ModelNode& node : model.nodes) find_operator(model, node);
  find_ends(file, model);

  const std::vector<ModelNode> chain = chain_of(model);
  require_memory(weight_bytes(model, chain), model.source);
  GraphBuilder builder(model, batch);
  for (const ModelNode& node : chain) {
    with_place(node_location(model, node),
               [&] { find_operator(model, node).import(model, node, builder); });
  }
  Graph graph = std::move(builder).finish(model);
  validate(graph);
  return graph;
}

}  // namespace

Graph import_onnx(const std::shared_ptr<const HeldFile>& held, std::int64_t batch,
                  const std::function<void(const std::filesystem::path&)>& on_external) {
  if (batch < 1) throw_bad_input("batch " + std::to_string(batch) + "; expected 1 or more");
  const std::unique_ptr<const ModelFile> file = read_model_file(held, on_external);
  ModelGraph model = read_model_graph(*file);
  Graph graph = with_place(model.source, [&] { return graph_of(*file, model, batch); });
  held->require_unchanged();
  return graph;
}

Graph import_onnx(const std::filesystem::path& path, std::int64_t batch) {
  return import_onnx(std::make_shared<const HeldFile>(path), batch);
}

}  // namespace qsim
