// Functions of one 8-bit number that several nodes are together: what the array has as a table.
#pragma once

#include <optional>
#include <vector>

#include "core/network/host_network.h"

namespace qsim::golden {

// What `nodes`, in order, make of each byte that an element of the 8-bit tensor `source` may have,
// as far as the float32 tensor `result`: 256 numbers, by the byte taken as unsigned. Nothing where
// a node is not elementwise, or reads another tensor than `source` and constants of one element,
// and where a number is NaN.
std::optional<std::vector<float>> levels_function(const HostNetwork& network,
                                                  const std::vector<std::size_t>& nodes,
                                                  HostValueId source, HostValueId result);

}  // namespace qsim::golden
