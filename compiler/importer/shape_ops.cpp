// Relu, and the operators that compute nothing: Flatten, Reshape, Identity, Transpose.
#include <algorithm>

#include "compiler/importer/operators.h"
#include "core/checked_math.h"

namespace qsim {
namespace {

constexpr int kFirstOpsetWithInt8Relu = 14;

using Permutation = std::vector<std::int64_t>;

std::int64_t elems_of_picture(const ImageShape& shape) {
  return checked_mul(checked_mul(shape.height, shape.width), shape.channels);
}

// `axes` are those of the result: kNk, or kNchw for [N, K, 1, 1].
void add_flatten(const NodeReader& node, GraphBuilder& graph, Axes axes) {
  const ImageShape& in = graph.value().shape;
  const auto order = graph.axes() == Axes::kNhwc ? Flatten::Order::kHwc : Flatten::Order::kChw;
  graph.add_layer(node, Flatten{order}, {in.batch, 1, 1, elems_of_picture(in)}, axes);
}

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

// Elements of the second axis of the ONNX tensor.
std::int64_t second_axis(Axes axes, const ImageShape& shape) {
  return axes == Axes::kNhwc ? shape.height : shape.channels;
}

// `perm`, which reverses the axes when absent.
Permutation read_permutation(const NodeReader& node, const NodeAttributes& attributes, int rank) {
  Permutation sorted;
  for (int axis = 0; axis < rank; ++axis) sorted.push_back(axis);
  const auto perm = attributes.integers("perm", rank);
  if (!perm) return {sorted.rbegin(), sorted.rend()};
  if (!std::is_permutation(perm->begin(), perm->end(), sorted.begin())) {
    node.malformed("perm = " + shape_text(*perm), "each axis once");
  }
  return *perm;
}

// The axes after a transpose of one-pixel pictures, whose channels alone can move.
std::optional<Axes> axes_of_moved_channels(Axes axes, const Permutation& perm) {
  const std::int64_t channel_axis = axes == Axes::kNchw ? 1 : 3;
  if (perm[0] == 0 && perm[1] == channel_axis) return Axes::kNchw;
  if (perm[0] == 0 && perm[3] == channel_axis) return Axes::kNhwc;
  return std::nullopt;
}

// The axes after a transpose that leaves every element of the NHWC tensor where it is.
std::optional<Axes> axes_after(GraphBuilder& graph, const Permutation& perm) {
  const Axes axes = graph.axes();
  if (perm == (axes == Axes::kNk ? Permutation{0, 1} : Permutation{0, 1, 2, 3})) return axes;
  if (axes == Axes::kNk) return std::nullopt;
  const ImageShape& shape = graph.value().shape;
  if (axes == Axes::kNchw && perm == Permutation{0, 2, 3, 1}) return Axes::kNhwc;
  if (axes == Axes::kNhwc && perm == Permutation{0, 3, 1, 2}) return Axes::kNchw;
  if (shape.height == 1 && shape.width == 1) {
    if (const auto moved = axes_of_moved_channels(axes, perm)) return moved;
  }
  if (perm == Permutation{0, 3, 1, 2} && graph.reinterpret_input_as_nhwc()) return Axes::kNchw;
  return std::nullopt;
}

}  // namespace

void import_relu(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 1, 1);
  const NodeAttributes attributes(reader, {});
  graph.require_quantized(reader);
  const Value& input = graph.value();
  if (input.dtype != DType::kInt8 || reader.opset() < kFirstOpsetWithInt8Relu) {
    reader.malformed(
        std::string(dtype_name(input.dtype)) + " in opset " + std::to_string(reader.opset()),
        "int8, opset " + std::to_string(kFirstOpsetWithInt8Relu) + " or later");
  }
  // ONNX cuts the stored number off at 0; that is ReLU of the real number for zero_point 0 only.
  if (input.zero_point != 0) {
    reader.refuse("reads a tensor of zero_point " + std::to_string(input.zero_point),
                  "zero_point 0");
  }
  graph.add_layer(reader, Relu{}, input.shape, graph.axes());
}

void import_flatten(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 1, 1);
  const NodeAttributes attributes(reader, {"axis"});
  graph.require_quantized(reader);
  const std::int64_t rank = graph.axes() == Axes::kNk ? 2 : 4;
  const std::int64_t axis = attributes.integer("axis", 1);
  if (axis != 1 && axis != 1 - rank) reader.refuse("axis = " + std::to_string(axis), "1");
  add_flatten(reader, graph, Axes::kNk);
}

void import_reshape(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 2, 2);
  const NodeAttributes attributes(reader, {"allowzero"});
  attributes.require_integer("allowzero", 0);
  graph.require_quantized(reader);
  const Shape target = reader.int64s(1, "shape");
  const ImageShape& in = graph.value().shape;
  const std::int64_t elems = elems_of_picture(in);
  const bool pictures = target.size() == 4 && target[2] == 1 && target[3] == 1;
  if ((target.size() != 2 && !pictures) ||
      !flattens(target, in.batch, elems, second_axis(graph.axes(), in))) {
    reader.refuse("shape " + shape_text(target), shape_text({in.batch, -1}) + ", " +
                                                     shape_text({in.batch, elems}) + ", " +
                                                     shape_text({in.batch, -1, 1, 1}) + ", " +
                                                     shape_text({in.batch, elems, 1, 1}));
  }
  if (pictures && in.height == 1 && in.width == 1) {
    graph.set_axes(Axes::kNchw);  // no element moves, and no layer is needed
  } else {
    add_flatten(reader, graph, pictures ? Axes::kNchw : Axes::kNk);
  }
}

void import_identity(const ModelGraph& model, const ModelNode& node, GraphBuilder&) {
  const NodeReader reader(model, node, 1, 1);
  const NodeAttributes attributes(reader, {});
}

void import_transpose(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 1, 1);
  const NodeAttributes attributes(reader, {"perm"});
  if (graph.stage() == Stage::kDequantized) graph.require_quantized(reader);
  const int rank = graph.axes() == Axes::kNk ? 2 : 4;
  const Permutation perm = read_permutation(reader, attributes, rank);
  const std::optional<Axes> axes = axes_after(graph, perm);
  if (!axes) {
    reader.refuse(
        "perm = " + shape_text(perm) + " of " + shape_text(graph.value().shape.nhwc()) + " (NHWC)",
        "permutations between [N, C, H, W] and [N, H, W, C]");
  }
  graph.set_axes(*axes);
}

}  // namespace qsim
