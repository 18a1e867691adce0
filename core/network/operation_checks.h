// What validate() demands of one layer: shapes, dtypes, ranges and counts.
#pragma once

#include <cstddef>

#include "core/network/graph.h"

namespace qsim {

// Throws Error (exit code 3) naming what was found and what is allowed. The graph's layers are in
// order, and its Values are valid by themselves.
void check_operation(const Graph& graph, std::size_t index);

// Throws Error (exit code 4) naming the layer if it rounds as TensorFlow Lite does, which golden on
// the CPU alone can.
void refuse_tflite_rounding(const Layer& layer);

}  // namespace qsim
