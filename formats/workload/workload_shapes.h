// The shapes of a workload, computed and checked before any of its tensors is made. A workload
// whose shapes are wrong or do not fit is refused at once, however large it is.
#pragma once

#include <vector>

#include "formats/workload/workload_file.h"

namespace qsim::formats {

struct LayerShapes {
  Value output;
  Shape weights;  // [Cout, kernel_h, kernel_w, Cin / groups] or [Cout, Cin]; empty for other layers
  // What it reads, as the graph will number it: a layer with `relu` is followed by another one.
  std::vector<TensorId> inputs;
};

// One entry a layer of `spec`. Throws Error with file:line:column for a shape that does not work
// out or a zero point beyond its dtype, and for tensors that are too large.
std::vector<LayerShapes> workload_shapes(const WorkloadSpec& spec);

// Throws Error naming `source` where memory for the tensors of these layers is not there.
void require_memory_for_tensors(const WorkloadSpec& spec, const std::vector<LayerShapes>& layers,
                                const std::string& source);

}  // namespace qsim::formats
