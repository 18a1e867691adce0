// Pad of a picture by its zero_point. The next convolution or average pool takes it into its own
// pads; before any other operator it becomes a layer.
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/pad_amounts.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// The constant that fills the pads must be the real number 0.
void check_fill(const NodeReader& node, GraphBuilder& graph, const ImportedTensor& input) {
  double fill = static_cast<double>(pad_value(node));
  if (node.has_input(2)) {
    const Tensor constant = node.constant(2, "constant_value");
    if (constant.elems() != 1) {
      node.malformed("constant_value has shape " + shape_text(constant.shape), "one number");
    }
    fill = constant.dtype == DType::kFloat32 ? static_cast<double>(constant.as<float>()[0])
           : constant.dtype == DType::kUint8 ? constant.as<std::uint8_t>()[0]
           : constant.dtype == DType::kInt8  ? constant.as<std::int8_t>()[0]
                                             : constant.as<std::int32_t>()[0];
  }
  double zero = 0.0;
  if (input.kind == Kind::kLevels) {
    if (!graph.value(input).scale) {
      return graph.expect_zero_point(static_cast<std::int32_t>(fill));
    }
    zero = graph.value(input).zero_point;
  } else if (input.function) {
    const auto byte = static_cast<std::size_t>(graph.value(input).zero_point & 0xFF);
    zero = static_cast<double>((*input.function)[byte]);
  }
  if (fill == zero) return;
  node.refuse("pads with " + float_text(static_cast<float>(fill)),
              "its zero_point, " + float_text(static_cast<float>(zero)));
}

}  // namespace

void import_pad(const NodeReader& node, GraphBuilder& graph) {
  require_pad_inputs(node);
  ImportedTensor input = graph.moved(node, 0);
  const Pads pads = read_pad_amounts(node, input.axes);
  if (pads != Pads{}) check_fill(node, graph, input);
  input.pads = sum_of(input.pads, pads);
  element_count(graph.shape(input).nhwc());  // throws where that overflows
  graph.define(node, std::move(input));
}

}  // namespace qsim::formats
