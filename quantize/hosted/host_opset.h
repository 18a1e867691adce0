// Nodes of ONNX before opset 13 as those of opset 13, the first with a scale a channel.
#pragma once

#include "core/network/host_network.h"

namespace qsim::quantize {

// The same network, shapes known, each node of ONNX of opset 13 or more. Throws Error (exit code 4)
// naming a node that opset 13 says otherwise or not at all.
HostNetwork at_opset_13(HostNetwork network);

}  // namespace qsim::quantize
