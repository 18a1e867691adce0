#include "formats/onnx/importer/part_views.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace qsim::formats {
namespace {

// What each element is computed of, or the last axis of it.
constexpr std::array<std::string_view, 22> kOfRows = {"QuantizeLinear",
                                                      "DequantizeLinear",
                                                      "MatMul",
                                                      "QLinearMatMul",
                                                      "Add",
                                                      "Mul",
                                                      "Sub",
                                                      "Relu",
                                                      "Clip",
                                                      "LeakyRelu",
                                                      "Tanh",
                                                      "Sigmoid",
                                                      "HardSigmoid",
                                                      "HardSwish",
                                                      "Identity",
                                                      "Erf",
                                                      "Gelu",
                                                      "Div",
                                                      "QLinearAdd",
                                                      "QLinearLeakyRelu",
                                                      "QLinearSigmoid",
                                                      "QLinearMul"};
constexpr std::array<std::string_view, 20> kOfLines = {"QuantizeLinear",
                                                       "DequantizeLinear",
                                                       "Conv",
                                                       "QLinearConv",
                                                       "MaxPool",
                                                       "AveragePool",
                                                       "Add",
                                                       "QLinearAdd",
                                                       "Relu",
                                                       "Clip",
                                                       "LeakyRelu",
                                                       "Sigmoid",
                                                       "HardSigmoid",
                                                       "HardSwish",
                                                       "Identity",
                                                       "QLinearAveragePool",
                                                       "QLinearSigmoid",
                                                       "QLinearLeakyRelu",
                                                       "QLinearConcat",
                                                       "Concat"};
constexpr std::array<std::string_view, 2> kGlobalPools = {"GlobalAveragePool",
                                                          "QLinearGlobalAveragePool"};

template <std::size_t size>
bool is_one_of(const std::string& name, const std::array<std::string_view, size>& names) {
  return std::ranges::find(names, name) != names.end();
}

template <typename Is>
bool all_are(const std::vector<ModelNode>& nodes, Is is) {
  return std::ranges::all_of(nodes,
                             [&](const ModelNode& node) { return is(node.proto->op_type()); });
}

bool is_matrix_or_picture(const Shape& shape) { return shape.size() == 2 || shape.size() == 4; }

}  // namespace

std::optional<PartView> view_of(const std::vector<ModelNode>& nodes, const Shape& input,
                                const Shape& output) {
  if (is_matrix_or_picture(input) && is_matrix_or_picture(output)) return PartView::kAsItIs;
  const auto of_rows = [](const std::string& op) { return is_one_of(op, kOfRows); };
  if (input.size() >= 2 && output.size() >= 2 && all_are(nodes, of_rows)) return PartView::kRows;
  const auto of_lines = [](const std::string& op) {
    return is_one_of(op, kOfLines) || is_one_of(op, kGlobalPools);
  };
  if (input.size() == 3 && output.size() == 3 && all_are(nodes, of_lines)) {
    return PartView::kLines;
  }
  return std::nullopt;
}

Shape viewed(const Shape& shape, PartView view) {
  if (view == PartView::kLines) return {shape[0], shape[1], 1, shape[2]};
  if (view == PartView::kAsItIs) return shape;
  const Shape rows(shape.begin(), shape.end() - 1);
  return {element_count(rows), shape.back()};
}

}  // namespace qsim::formats
