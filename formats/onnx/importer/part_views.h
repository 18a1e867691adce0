// Tensors of three axes and more as the importer takes them: as rows of a matrix, or as pictures of
// height 1. No number moves: only shapes are read differently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

enum class PartView : std::uint8_t {
  kAsItIs,
  kRows,   // [..., K] is [rows, K]: operators that know the last axis alone
  kLines,  // [N, C, L] is [N, C, 1, L]: convolutions and pools of one axis
};

// The view under which a part with ends of these shapes may be imported; nothing where none is.
// Looks at the operators of `nodes`.
std::optional<PartView> view_of(const std::vector<ModelNode>& nodes, const Shape& input,
                                const Shape& output);

Shape viewed(const Shape& shape, PartView view);

}  // namespace qsim::formats
