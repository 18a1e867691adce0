#include "core/network/host_network.h"

#include <algorithm>

namespace qsim {

bool only_reshapes(std::string_view op) {
  return op == "Identity" || op == "Flatten" || op == "Reshape" || op == "Squeeze" ||
         op == "Unsqueeze";
}

bool is_folded(const HostNetwork& network, const HostNode& node) {
  return std::ranges::all_of(node.outputs, [&](HostValueId id) {
    return id == kAbsentValue || network.values[id].array.has_values();
  });
}

}  // namespace qsim
