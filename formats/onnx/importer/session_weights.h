// Float32 weights that ONNX Runtime quantizes when it opens a session.
#pragma once

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// Of each Conv and Gemm between a DequantizeLinear and a QuantizeLinear whose weights are float32
// constants: puts int8 weights with a scale and a zero_point of the whole tensor in their place
// (core/optimizer/qdq_transformer/weight_bias_quantization.cc). True where there was one.
bool quantize_session_weights(ModelGraph& model);

}  // namespace qsim::formats
