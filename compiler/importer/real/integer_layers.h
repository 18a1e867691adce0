// Layers that sum integers among float32 ones: the nodes of dynamic quantization, as ONNX Runtime's
// quantize_dynamic writes them (a layer finds the range of what it reads while it runs), and the
// same nodes with a QuantizeLinear, whose scale is a constant.
#pragma once

#include <map>
#include <string>

#include "compiler/importer/model_graph.h"
#include "compiler/importer/real/stored_integers.h"

namespace qsim {

using IntegerConstants = std::map<std::string, StoredIntegers, std::less<>>;

// Each DynamicQuantizeLinear (or QuantizeLinear, then a Clip or none), ConvInteger (MatMulInteger),
// Cast, Mul by both scales becomes one Conv (MatMul) of float numbers, called after the
// ConvInteger. Its weights are a new constant, which the result names: the integers that it stands
// for, with the rule of the input. Throws Error (exit code 4) for a ConvInteger (MatMulInteger)
// among other nodes than these. The graph's ends are known.
IntegerConstants make_integer_layers(ModelGraph& model);

}  // namespace qsim
