// What the host's nodes cost, counted from their shapes.
#pragma once

#include <cstdint>

#include "core/network/host_network.h"

namespace qsim::golden {

// Multiply-accumulates of products and convolutions; of other operators the elements of the larger
// side. 0 where shapes are not known before a run.
std::int64_t host_operations(const HostNetwork& network, const HostNode& node);

// The bytes of a value; 0 where its shape is not known.
std::int64_t value_bytes(const HostValue& value);

// The bytes of all that the node reads and writes.
std::int64_t host_bytes(const HostNetwork& network, const HostNode& node);

// The bytes of all values of a run together, as far as their shapes are known.
std::int64_t run_bytes(const HostNetwork& network);

}  // namespace qsim::golden
