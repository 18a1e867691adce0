// Lowering for a caller that needs the graph's weights no longer: the program's take their place in
// memory.
#pragma once

#include "compiler/lowering/memory_plan.h"
#include "core/machine/program.h"
#include "core/network/graph.h"

namespace qsim::compiler {

// Lowers a plan whose layers point into `graph`, as lower() does. Gives each part of the graph's
// weights back to the operating system as soon as it is packed, and at the end what is left of
// their pages: the weights' bytes have no particular value afterwards.
Program lower_and_free_weights(Graph& graph, const MemoryPlan& plan, const ArchConfig& arch);

}  // namespace qsim::compiler
