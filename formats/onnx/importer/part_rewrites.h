// Nodes of a part as the importer knows them: the same numbers, written otherwise.
#pragma once

#include <functional>
#include <string>

#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/part_views.h"

namespace qsim::formats {

// The values of a tensor that is known before a run; null for any other.
using FindValue = std::function<const Tensor*(const std::string& name)>;

// MatMul and the Add of a
// constant vector become Gemm. Weights that are transposed after their DequantizeLinear are
// transposed before it. Concat of one tensor, and a product by 1, are that tensor. Under kLines,
// convolutions and pools of one axis get a second one.
void rewrite_part(ModelGraph& part, PartView view, const FindValue& find);

onnx::TensorProto proto_of(const Tensor& tensor);

}  // namespace qsim::formats
