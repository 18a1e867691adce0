// What ONNX Runtime makes of DequantizeLinear, an operator and QuantizeLinear: one operator on
// levels. The host runs these as it does.
#pragma once

#include <cstddef>
#include <set>

#include "core/network/host_network.h"

namespace qsim::formats {

// In the place of each QuantizeLinear of such a group it puts the operator on levels, which reads
// the levels and the constants of the group; nodes that nothing reads any more stay. `float_nodes`
// are the file's numbers of those that ONNX Runtime runs in float32.
void fuse_host_groups(HostNetwork& network, const std::set<int>& float_nodes);

// Each Conv and Gemm, as an index of HostNetwork::nodes, that has a bias after a DequantizeLinear
// of another type than int32, or of another scale than x_scale * w_scale: they have no form on
// levels.
std::set<std::size_t> nodes_with_other_bias(const HostNetwork& network);

}  // namespace qsim::formats
