#include "formats/onnx/importer/shape_rules.h"

#include <algorithm>

namespace qsim::formats {
namespace {

// Whether the first two numbers of a Reshape's `target` keep the batch and put all of a picture's
// elements on one axis. 0 copies the axis of the input, whose second one has `axis_1` elements; one
// -1 is the size that is left over.
bool flattens(const Shape& target, std::int64_t batch, std::int64_t elems, std::int64_t axis_1) {
  if (target[0] == -1 && target[1] == -1) return false;
  const bool keeps_batch = target[0] == 0 || target[0] == -1 || target[0] == batch;
  const bool takes_all =
      target[1] == -1 || target[1] == elems || (target[1] == 0 && axis_1 == elems);
  return keeps_batch && takes_all;
}

// The axes after a transpose of one-pixel pictures, whose channels alone can move.
std::optional<Axes> axes_of_moved_channels(Axes axes, const Permutation& perm) {
  const std::int64_t channel_axis = axes == Axes::kNchw ? 1 : 3;
  if (perm[0] == 0 && perm[1] == channel_axis) return Axes::kNchw;
  if (perm[0] == 0 && perm[3] == channel_axis) return Axes::kNhwc;
  return std::nullopt;
}

}  // namespace

ShapeChange read_flatten(const NodeReader& node, Axes axes) {
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 1);
  if (axis != 1 && axis != 1 - rank_of(axes)) node.refuse("axis = " + std::to_string(axis), "1");
  return {true, Axes::kNk};
}

ShapeChange read_reshape(const NodeReader& node, const ImageShape& shape, Axes axes) {
  const NodeAttributes attributes(node, {"allowzero"});
  const Shape target = node.int64s(1, "shape");
  // Without a 0 in the shape the attribute says nothing.
  if (std::ranges::find(target, 0) != target.end()) attributes.require_integer("allowzero", 0);
  if (target == onnx_shape(shape, axes)) return {false, axes};
  const std::int64_t elems = elems_of_picture(shape);
  const bool pictures = target.size() == 4 && target[2] == 1 && target[3] == 1;
  const std::int64_t axis_1 = onnx_shape(shape, axes)[1];
  if ((target.size() != 2 && !pictures) || !flattens(target, shape.batch, elems, axis_1)) {
    node.refuse("shape " + shape_text(target), shape_text({shape.batch, -1}) + ", " +
                                                   shape_text({shape.batch, elems}) + ", " +
                                                   shape_text({shape.batch, -1, 1, 1}) + ", " +
                                                   shape_text({shape.batch, elems, 1, 1}));
  }
  if (pictures && is_one_pixel(shape)) return {false, Axes::kNchw};  // no element moves
  return {true, pictures ? Axes::kNchw : Axes::kNk};
}

void require_last_axis(const NodeReader& node, std::int64_t axis) {
  if (axis != 1 && axis != -1) node.refuse("axis = " + std::to_string(axis), "1, -1");
}

std::vector<std::int64_t> read_axes(const NodeReader& node, std::int64_t rank) {
  constexpr int kFirstOpsetWithAxesInput = 13;
  std::vector<std::int64_t> axes;
  if (node.opset() >= kFirstOpsetWithAxesInput) {
    const NodeAttributes attributes(node, {});
    if (node.has_input(1)) axes = node.int64s(1, "axes");
  } else {
    axes = NodeAttributes(node, {"axes"}).integers("axes").value_or(axes);
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

Axes read_squeeze(const NodeReader& node, const ImageShape& shape, Axes axes) {
  const std::vector<std::int64_t> squeezed = read_axes(node, 4);
  const Permutation pixels = axes == Axes::kNhwc ? Permutation{1, 2} : Permutation{2, 3};
  if (axes == Axes::kNk || squeezed != pixels || !is_one_pixel(shape)) {
    node.refuse("axes = " + shape_text(squeezed) + " of " + shape_text(onnx_shape(shape, axes)),
                "height and width of one-pixel pictures");
  }
  return Axes::kNk;
}

Axes read_unsqueeze(const NodeReader& node, const ImageShape& shape, Axes axes) {
  const std::vector<std::int64_t> made = read_axes(node, 4);
  if (axes != Axes::kNk || made != Permutation{2, 3}) {
    node.refuse("axes = " + shape_text(made) + " of " + shape_text(onnx_shape(shape, axes)),
                "[2, 3] of [N, K]");
  }
  return Axes::kNchw;
}

Permutation read_permutation(const NodeReader& node, int rank) {
  const NodeAttributes attributes(node, {"perm"});
  Permutation sorted;
  for (int axis = 0; axis < rank; ++axis) sorted.push_back(axis);
  const auto perm = attributes.integers("perm", rank);
  if (!perm) return {sorted.rbegin(), sorted.rend()};
  if (!std::is_permutation(perm->begin(), perm->end(), sorted.begin())) {
    node.malformed("perm = " + shape_text(*perm), "each axis once");
  }
  return *perm;
}

std::optional<Axes> transposed_axes(const ImageShape& shape, Axes axes, bool has_pads,
                                    const Permutation& perm) {
  if (perm == (axes == Axes::kNk ? Permutation{0, 1} : Permutation{0, 1, 2, 3})) return axes;
  if (axes == Axes::kNk || has_pads) return std::nullopt;
  if (axes == Axes::kNchw && perm == Permutation{0, 2, 3, 1}) return Axes::kNhwc;
  if (axes == Axes::kNhwc && perm == kNhwcToNchw) return Axes::kNchw;
  return is_one_pixel(shape) ? axes_of_moved_channels(axes, perm) : std::nullopt;
}

void refuse_permutation(const NodeReader& node, const ImageShape& shape, const Permutation& perm) {
  node.refuse("perm = " + shape_text(perm) + " of " + shape_text(shape.nhwc()) + " (NHWC)",
              "permutations between [N, C, H, W] and [N, H, W, C]");
}

}  // namespace qsim::formats
