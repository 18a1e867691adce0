// The scheme that the options of `qsim quantize` and the file of --layers name.
#pragma once

#include "cli/session/quantize/quantize_options.h"
#include "core/network/graph.h"
#include "quantize/quantizer.h"

namespace qsim::cli {

// Throws Error: exit code 2 for options, exit code 3 with file:line:column for a file of --layers
// that is malformed, and for layers that the network does not have.
quantize::Scheme scheme_of_options(const QuantizeOptions& options, const Graph& graph);

}  // namespace qsim::cli
