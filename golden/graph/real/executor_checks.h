// What an executor of float networks asks of its graph, options and input.
#pragma once

#include "golden/graph/real/real_executor.h"

namespace qsim::golden {

// Throws Error for a graph that validate() refuses, and for rules and integer weights outside their
// ranges.
void check_executor(const Graph& graph, const RealExecutorOptions& options);

// Throws Error for an input of another shape than the graph's with any number of pictures, or of
// another dtype.
void check_input(const Graph& graph, const Tensor& input);

}  // namespace qsim::golden
