// Where two graphs differ, field by field.
#pragma once

#include <string>

#include "core/network/graph.h"

namespace qsim {

// The first field that differs, or "". `source` alone is not compared: it names a file.
std::string graph_difference(const Graph& a, const Graph& b);

}  // namespace qsim
