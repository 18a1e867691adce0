// From a quantized network to an ONNX file that ONNX Runtime and the importer run to the same bytes.
#pragma once

#include <string>

#include "core/quantized_network.h"

namespace qsim {

enum class OnnxForm : std::uint8_t { kQOperator, kQdq };

// The bytes of the file (a ModelProto; weights inside). The tensors keep their names: an activation
// is called after the layer that writes it. The graph that import_onnx() makes of it equals
// network.graph. Throws Error (exit code 4) naming the layer that ONNX cannot say, and (exit code 3)
// beyond protobuf's 2 GiB.
std::string onnx_bytes(const QuantizedNetwork& network, OnnxForm form);

}  // namespace qsim
