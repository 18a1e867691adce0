// The product of a tensor and a function of it, as HardSwish has it: a table of 256 bytes. Products
// of other tensors are refused.
#pragma once

#include "formats/onnx/importer/graph_builder.h"

namespace qsim::formats {

// A layer that waits for its QuantizeLinear; a and b are levels.
OpenLayer open_product(const GraphBuilder& graph, const NodeReader& node, const ImportedTensor& a,
                       const ImportedTensor& b);
// Its table, over the levels of the tensor of which both are functions (operand 0 of the layer is
// a, operand 1 is b): saturate(rint(a' * b' * ((a_scale * b_scale) / y_scale) + y_zero_point)). Or
// the product of the real numbers, rounded, where ONNX Runtime runs it so: of int8 tensors in a QDQ
// graph of which some but not all are read by several nodes. `quantize` is the QuantizeLinear, or
// the QLinearMul itself.
ByteTable product_bytes(const GraphBuilder& graph, const OpenLayer& layer,
                        const NodeReader& quantize, const Quantization& output);
// The tensor of which both are functions.
TensorId product_root(const GraphBuilder& graph, const ImportedTensor& a);

// The product of real numbers of one tensor's levels.
ImportedTensor product_of_reals(const GraphBuilder& graph, const NodeReader& node,
                                const ImportedTensor& a, const ImportedTensor& b);

}  // namespace qsim::formats
