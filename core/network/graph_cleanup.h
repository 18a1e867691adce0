// What the importer and the quantizer do with a Graph that has all its layers.
#pragma once

#include "core/network/graph.h"

namespace qsim {

// The Graph without layers that the output does not depend on. A table that only clamps its input
// becomes the clamp of the layer before it, where no other layer reads that, or a Relu.
Graph cleaned(Graph graph);

// The Graph with each table and Relu of one flattened picture before the Flatten, which moves
// numbers and computes none: the accelerator runs it there. The output keeps its bytes.
Graph with_tables_before_flattens(Graph graph);

// The Graph with max-pools of kernels or strides larger than `most` as chains of smaller ones,
// which have the same maxima. The last keeps the name. Pools stay that have a dilation, a kernel
// above kMostCutPool on an axis of small stride and several results, or a stride with a prime
// factor above `most`.
inline constexpr std::int64_t kMostCutPool = 16;
Graph with_small_max_pools(Graph graph, std::int64_t most);

// A chain of convolutions (of one group, without dilation), fully connected layers, max-pools,
// ReLU and Flatten whose scales are all powers of two gets shifts with rounding half to even. These
// run on an accelerator without multipliers. Any other Graph stays as it is.
void use_shifts_where_all_can(Graph& graph);

}  // namespace qsim
