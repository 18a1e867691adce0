// Quant and BipolarQuant, as Brevitas and QONNX write them, as ONNX's own nodes.
#pragma once

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// A Quant of at most 8 bits, which rounds to the nearest, becomes QuantizeLinear, a Clip of levels
// where it has fewer than the type, and DequantizeLinear; of a constant, and a BipolarQuant of one,
// levels and DequantizeLinear. Others stay, and are refused as operators that are not known.
// Source: the operators' definitions in QONNX (docs/qonnx-custom-ops).
void replace_quant_nodes(ModelGraph& model);

}  // namespace qsim::formats
