// From a quantized network to an ONNX file that ONNX Runtime and the importer run to the same
// bytes.
#pragma once

#include <cstdint>
#include <string>

#include "core/network/quantized_network.h"

namespace qsim::formats {

// kQOperator: operators on levels (QLinearConv, ...). kQdq: operators on real numbers between
// DequantizeLinear and QuantizeLinear.
enum class OnnxForm : std::uint8_t { kQOperator, kQdq };

// The bytes of the file (a ModelProto, opset 14; weights inside). A layer's node has its name, and
// so has the activation that it writes. The graph that import_onnx() makes of it equals
// network.graph, but for `source`. A batch of 1 is written as a symbol: any batch.
// docs/reference/onnx.md has the nodes of each layer. Throws Error (exit code 4) naming the
// layer that ONNX cannot say, and (exit code 3) beyond protobuf's 2 GiB.
std::string onnx_bytes(const QuantizedNetwork& network, OnnxForm form);

}  // namespace qsim::formats
