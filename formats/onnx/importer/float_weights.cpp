#include "formats/onnx/importer/float_weights.h"

#include <memory>
#include <optional>

#include "core/base/error.h"
#include "formats/files/held_file.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {
namespace {

// A float32 constant of so many dimensions and at least one element; nothing for any other input.
std::optional<Tensor> constant_of(const NodeReader& node, std::size_t dimensions) {
  if (!node.has_input(1) || !node.is_constant(1)) return std::nullopt;
  const onnx::TensorProto& proto = *node.model().constant(node.input(1));
  if (proto.data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  if (static_cast<std::size_t>(proto.dims_size()) != dimensions) return std::nullopt;
  Tensor tensor = node.constant(1, "weights");
  if (tensor.elems() == 0) return std::nullopt;
  return tensor;
}

// [K, N] to [N, K].
Tensor transposed(const Tensor& from) {
  const std::int64_t rows = from.shape[0];
  const std::int64_t columns = from.shape[1];
  Tensor to(DType::kFloat32, {columns, rows});
  const std::span<const float> read = from.as<float>();
  const std::span<float> written = to.as<float>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      written[static_cast<std::size_t>(c * rows + r)] =
          read[static_cast<std::size_t>(r * columns + c)];
    }
  }
  return to;
}

std::int64_t attribute(const ModelNode& node, const std::string& name, std::int64_t fallback) {
  for (const onnx::AttributeProto& attribute : node.proto->attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return fallback;
}

std::optional<Tensor> weights_of(const NodeReader& node) {
  const std::string& op_type = node.op_type();
  if (op_type == "Conv") {
    return attribute(node.node(), "group", 1) == 1 ? constant_of(node, 4) : std::nullopt;
  }
  if (op_type != "Gemm" && op_type != "MatMul") return std::nullopt;
  std::optional<Tensor> matrix = constant_of(node, 2);
  if (!matrix) return std::nullopt;
  if (op_type == "MatMul" || attribute(node.node(), "transB", 0) == 0) {
    matrix = transposed(*matrix);
  }
  matrix->shape = {matrix->shape[0], matrix->shape[1], 1, 1};
  return matrix;
}

}  // namespace

std::vector<FloatWeights> read_float_weights(const std::filesystem::path& path) {
  const auto held = std::make_shared<const HeldFile>(path);
  const std::unique_ptr<const ModelFile> file = read_model_file(held, {});
  const ModelGraph model = read_model_graph(*file);
  std::vector<FloatWeights> found;
  for (const ModelNode& node : model.nodes) {
    const NodeReader reader(model, node);
    std::optional<Tensor> weights = weights_of(reader);
    if (weights) found.push_back({reader.layer_name(), std::move(*weights)});
  }
  held->require_unchanged();
  if (found.empty()) {
    throw_unsupported(model.source +
                      ": no Conv of one group, Gemm or MatMul whose weights are float32 constants; "
                      "a quantized network goes to --model");
  }
  return found;
}

}  // namespace qsim::formats
