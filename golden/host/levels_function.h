// Functions of one 8-bit number that several nodes are together: what the array has as a table.
#pragma once

#include <optional>
#include <vector>

#include "core/network/host_network.h"

namespace qsim::golden {

// What `nodes`, of that network and in order, make of each byte that an element of the 8-bit tensor
// `source` may have, as far as the 8-bit tensor `result`: [256] by the byte taken as unsigned.
// Nothing where a node is not elementwise, or reads another tensor than `source` and constants of
// one element, and where a real number in between is NaN.
std::optional<Tensor> levels_function(const HostNetwork& network,
                                      const std::vector<const HostNode*>& nodes, HostValueId source,
                                      HostValueId result);

}  // namespace qsim::golden
