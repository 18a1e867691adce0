// A graph without its tensors: weights and biases have their shapes and no bytes. That is enough
// for the times of a program (Compilation::commands in compiler/compile.h), and for nothing else.
#pragma once

#include "core/network/graph.h"

namespace qsim {

// What is made of a network: all tensors, drawn where they come from a seed, or their shapes alone.
enum class Tensors : std::uint8_t { kDrawn, kShapes };

// The same graph without the bytes of its weights and biases. validate() takes it.
Graph without_tensors(const Graph& graph);

// False for a graph whose weights and biases have no bytes; one without weights counts as having
// them. Throws InternalError where some have bytes and others have none.
bool has_tensors(const Graph& graph);

// A tensor of this dtype and shape without bytes.
Tensor shape_alone(DType dtype, Shape shape);

}  // namespace qsim
