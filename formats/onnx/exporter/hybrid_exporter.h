// From a network that golden alone runs to an ONNX file that ONNX Runtime runs too:
// docs/reference/onnx.md.
#pragma once

#include <string>

#include "core/network/hybrid_network.h"

namespace qsim::formats {

// The bytes of the file (a ModelProto, opset 14; weights inside). import_hybrid_onnx() makes the
// same network of it, but for `source` and `tensor` of its layers. Throws Error (exit code 4)
// naming a layer whose integers ONNX has no operator for, and (exit code 3) beyond protobuf's 2
// GiB.
std::string onnx_bytes(const HybridNetwork& network);

}  // namespace qsim::formats
