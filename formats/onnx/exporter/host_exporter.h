// From a HostNetwork to an ONNX file: every node as it is, with the constants that nodes read.
#pragma once

#include <string>
#include <vector>

#include "core/network/host_network.h"

namespace qsim::formats {

// The bytes of the file (a ModelProto, weights inside). Nodes have one opset a domain. `outputs`,
// one for each of the network's, have the types and ranks of those whose shapes the network does
// not know. Throws Error (exit code 3) beyond protobuf's 2 GiB.
std::string onnx_bytes(const HostNetwork& network, const std::vector<Tensor>& outputs);

}  // namespace qsim::formats
