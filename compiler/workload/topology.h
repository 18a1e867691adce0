// A layer of a SCALE-Sim topology as a network of its own, with seeded tensors.
#pragma once

#include "compiler/workload/topology_file.h"
#include "compiler/workload/workload.h"

namespace qsim {

// A convolution, of one pixel a fully connected layer, of int8 values with zero_point 0. The ofmap
// is [batch][...] of the layer's own order of axes. `with_values` draws input and weights as for a
// workload, from a seed that follows from the layer's number; without, all are zero, which is
// enough for times and bytes moved. Throws Error, at the layer's place, for tensors that are too
// large or that there is no memory for.
Workload layer_workload(const Topology& topology, std::size_t layer, bool with_values);

}  // namespace qsim
