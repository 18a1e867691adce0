// What kind of file a model is, before any node is read.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// What runs a model: the array alone, or with a host beside it.
enum class RunBy : std::uint8_t { kArray, kArrayAndHost };

// Throws Error (exit code 4) for a model of float32 operators alone, for one that first_hybrid()
// finds (of which a host runs all but roundings of fake quantization), and for one of float32
// operators and those of another tool; the message says what to do. `require_float` throws the
// Error of a float model that `qsim quantize` refuses.
void require_quantized_form(const ModelGraph& model, const std::vector<ModelNode>& nodes,
                            RunBy run_by, const std::function<void()>& require_float);

// The first node of a network that golden alone runs: dynamic quantization, a rounding of fake
// quantization, or, where no activation is quantized, a DequantizeLinear of weights. Null for any
// other network.
const ModelNode* first_hybrid(const ModelGraph& model, const std::vector<ModelNode>& nodes);

// The first node of a quantized operator, static or dynamic, of ONNX or of another tool; null where
// there is none.
const ModelNode* first_quantized(const std::vector<ModelNode>& nodes);

}  // namespace qsim::formats
