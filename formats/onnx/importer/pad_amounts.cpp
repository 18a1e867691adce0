#include "formats/onnx/importer/pad_amounts.h"

#include "core/base/checked_math.h"
#include "core/base/printable.h"

namespace qsim::formats {
namespace {

constexpr int kFirstOpsetWithPadInputs = 11;

NodeAttributes pad_attributes(const NodeReader& node) {
  return has_pad_inputs(node) ? NodeAttributes(node, {"mode"})
                              : NodeAttributes(node, {"mode", "pads", "value"});
}

std::vector<std::int64_t> read_given(const NodeReader& node) {
  const NodeAttributes attributes = pad_attributes(node);
  const std::string mode = attributes.text("mode", "constant");
  if (mode != "constant") node.refuse("mode = '" + echoed(mode) + "'", "constant");
  if (has_pad_inputs(node)) return node.int64s(1, "pads");
  return attributes.integers("pads").value_or(std::vector<std::int64_t>{});
}

// Amounts before and after each axis, of the axes that an input names or of all.
std::vector<std::int64_t> read_amounts(const NodeReader& node, std::int64_t rank) {
  const std::vector<std::int64_t> given = read_given(node);
  std::vector<std::int64_t> axes;
  if (node.has_input(3)) {
    axes = node.int64s(3, "axes");
  } else {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (given.size() != 2 * axes.size()) {
    node.malformed(std::to_string(given.size()) + " pads",
                   std::to_string(2 * axes.size()) + ", two for each axis");
  }
  std::vector<std::int64_t> amounts(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
    if (axis < 0 || axis >= rank) {
      node.malformed("axis " + std::to_string(axes[i]), "axes of the tensor");
    }
    amounts[static_cast<std::size_t>(axis)] = given[i];
    amounts[static_cast<std::size_t>(axis + rank)] = given[i + axes.size()];
  }
  return amounts;
}

Pads pads_of_picture(const NodeReader& node, Axes axes, const std::vector<std::int64_t>& amounts) {
  const std::size_t rank = amounts.size() / 2;
  const std::size_t row = axes == Axes::kNhwc ? 1 : 2;
  const bool is_picture = axes != Axes::kNk;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const bool is_side = is_picture && (i % rank == row || i % rank == row + 1);
    if (amounts[i] < 0 || (amounts[i] > 0 && !is_side)) {
      node.refuse("pads = " + shape_text(amounts) + " of " + axes_name(axes),
                  "0 or more positions around height and width");
    }
  }
  if (!is_picture) return {};
  return {amounts[row], amounts[row + 1], amounts[row + rank], amounts[row + 1 + rank]};
}

}  // namespace

bool has_pad_inputs(const NodeReader& node) { return node.opset() >= kFirstOpsetWithPadInputs; }

void require_pad_inputs(const NodeReader& node) {
  has_pad_inputs(node) ? node.require_inputs(2, 4) : node.require_inputs(1, 1);
}

float pad_value(const NodeReader& node) {
  return has_pad_inputs(node) ? 0.0F : pad_attributes(node).real("value", 0.0F);
}

Pads read_pad_amounts(const NodeReader& node, Axes axes) {
  return pads_of_picture(node, axes, read_amounts(node, rank_of(axes)));
}

Pads sum_of(const Pads& a, const Pads& b) {
  return {checked_add(a.top, b.top), checked_add(a.left, b.left), checked_add(a.bottom, b.bottom),
          checked_add(a.right, b.right)};
}

}  // namespace qsim::formats
