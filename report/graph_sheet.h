// What a Graph holds, as a sheet: for `inspect`.
#pragma once

#include "core/network/graph.h"
#include "report/sheet.h"

namespace qsim::report {

// Facts (input, output, layers, weights, MACs) and one row a layer: shapes, window, quantization.
Sheet graph_sheet(const Graph& graph);

}  // namespace qsim::report
