// Which graphs the importer gives back as onnx_writer.h wrote them: chains with scales that are
// powers of two.
#pragma once

#include "core/network/graph.h"

namespace qsim {

// Throws Error (exit code 4) naming the first layer of another graph.
void check_writable(const Graph& graph);

}  // namespace qsim
