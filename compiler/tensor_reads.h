// Which tensors a program's LOADs read, compared with the graph's edges: a second witness of the
// memory plan, which may give one tensor's bytes to another.
#pragma once

#include "core/machine/program.h"
#include "core/network/graph.h"

namespace qsim::compiler {

// Throws InternalError, naming the two layers, when a LOAD reads bytes that belong, in program
// order, to a tensor that its layer does not read in the graph; or to none. Precondition: the
// verifier has found nothing in `program`, which is `graph`'s.
void check_tensor_reads(const Graph& graph, const Program& program);

}  // namespace qsim::compiler
