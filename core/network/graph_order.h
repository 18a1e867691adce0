// The order of a graph's layers, and who reads each tensor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/network/graph.h"

namespace qsim {

// Throws Error (exit code 3) for a layer that reads a tensor before it is written, that reads more
// or fewer tensors than its operation has operands, or whose output no layer reads though it is not
// the last. Throws InternalError unless each tensor but the input is the output of one layer.
void check_order(const Graph& graph);

// By tensor, the layers that read it, ascending; a layer that reads it twice is there once.
std::vector<std::vector<std::size_t>> readers_of_tensors(const Graph& graph);

// By tensor, the name of the layer that writes it, or "input".
std::vector<std::string> names_of_tensors(const Graph& graph);

// Whether each layer reads the output of the one before alone.
bool is_chain(const Graph& graph);

}  // namespace qsim
