// What operators that compute nothing do to a picture: Flatten, Reshape, Squeeze, Unsqueeze,
// Transpose. They read the node; what they find is the same for numbers of any kind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

using Permutation = std::vector<std::int64_t>;

// No element moves and the axes become `axes`; with `flattens`, the elements of one picture come on
// one axis (a Flatten whose order the axes before it give), then the axes are `axes`.
struct ShapeChange {
  bool flattens = false;
  Axes axes = Axes::kNchw;
};

// `shape` is what the node reads, pads included, and `axes` its axes. Each throws Error for what is
// not supported.
ShapeChange read_flatten(const NodeReader& node, Axes axes);
ShapeChange read_reshape(const NodeReader& node, const ImageShape& shape, Axes axes);
Axes read_squeeze(const NodeReader& node, const ImageShape& shape, Axes axes);
Axes read_unsqueeze(const NodeReader& node, const ImageShape& shape, Axes axes);

// `perm`, which reverses the axes when absent.
Permutation read_permutation(const NodeReader& node, int rank);
// The axes after a transpose that leaves every element of the NHWC tensor where it is; nothing for
// any other transpose. It cannot move pads.
std::optional<Axes> transposed_axes(const ImageShape& shape, Axes axes, bool has_pads,
                                    const Permutation& perm);
[[noreturn]] void refuse_permutation(const NodeReader& node, const ImageShape& shape,
                                     const Permutation& perm);
// The transpose from [N, H, W, C] to [N, C, H, W]. On the input it says that the input is
// [N, H, W, C].
inline const Permutation kNhwcToNchw = {0, 3, 1, 2};

// Softmax and ArgMax over [N, K]: refuses an axis other than the last one.
void require_last_axis(const NodeReader& node, std::int64_t axis);

// The axes of Squeeze and Unsqueeze: an attribute, from opset 13 on an input. Sorted; negative ones
// count from the end of `rank` axes.
std::vector<std::int64_t> read_axes(const NodeReader& node, std::int64_t rank);

}  // namespace qsim::formats
