// Scales rounded to powers of two, for accelerators whose requantizer is a shift. It changes what
// the network computes; cli/session/run/snap_error.h says by how much.
#pragma once

#include <cstdint>

#include "core/network/graph.h"

namespace qsim::compiler {

struct Snapped {
  Graph graph;
  std::int64_t layers = 0;    // with a channel whose scale was moved
  std::int64_t channels = 0;  // of these layers, whose scale was moved
};

// The graph with requantizers of convolutions and fully connected layers that are shifts of 0 to
// kMaxShift, rounding `rounding` (not kFloat32); so do average pools. The tensors keep their scales
// and zero_points, so levels still mean what they meant. What the scale M of an output channel
// gains by becoming 2^-s, its weights and bias lose: w becomes round(w * M * 2^s), ties away from
// zero, within the range of its dtype (int16: -255..255), and the bias likewise within int32. Of
// the two powers of two beside M, 2^-s is the one whose weights have the smaller sum of squares of
// (round(w * M * 2^s) / (M * 2^s) - w); a tie goes to the nearer one in the log domain. A
// scale that is a power of two within the range stays as it is. Additions, lookup tables and
// average pools keep their scales: the compiler refuses those that no shift is.
Snapped snap_scales(const Graph& graph, RequantizerRounding rounding);

}  // namespace qsim::compiler
