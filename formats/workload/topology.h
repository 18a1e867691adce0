// A layer of a SCALE-Sim topology as a network of its own, with seeded tensors.
#pragma once

#include "formats/workload/topology_file.h"
#include "formats/workload/workload.h"

namespace qsim::formats {

// A convolution, of one pixel a fully connected layer, of int8 values with zero_point 0. The ofmap
// is [batch][...] of the layer's own order of axes. Input and weights are drawn as for a workload,
// from a seed that follows from the layer's number; their shapes alone are enough for times and
// bytes moved. Throws Error, at the layer's place, for tensors that are too large or that there is
// no memory for.
Workload layer_workload(const Topology& topology, std::size_t layer, Tensors tensors);

}  // namespace qsim::formats
