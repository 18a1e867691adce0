// Useful multiply-accumulates counted a second time, from the graph's shapes and from where the
// STOREs' origins say that values belong. The first count is ProgramLayer::macs, by the compiler.
#pragma once

#include <vector>

#include "core/machine/program.h"
#include "core/network/graph.h"

namespace qsim::compiler {

// By program layer: the psums that the stored ofmap needs, each once, times the
// multiply-accumulates of one psum (kernel_h x kernel_w x input channels of conv2d, input channels
// of fully_connected, none of a max-pool or ReLU that runs alone). `graph` is what `program` was
// compiled from; its weights are not read. Throws InternalError for an origin outside its layer's
// ofmap.
std::vector<std::uint64_t> useful_macs_by_origin(const Graph& graph, const Program& program);

// Throws InternalError, naming the layer, where ProgramLayer::macs is another number.
void check_useful_macs(const Graph& graph, const Program& program);

}  // namespace qsim::compiler
