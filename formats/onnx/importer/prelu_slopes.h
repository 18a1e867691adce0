// The slopes of PRelu, which both importers read.
#pragma once

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// `slope` is what the node reads beside a tensor of these axes: float32 [C] of it, or [1] where all
// are equal. Throws Error for numbers that are not finite, and for a shape that ONNX doesn't repeat
// along all axes but the channels'.
Tensor prelu_slopes(const NodeReader& node, const Tensor& slope, Axes axes, std::int64_t channels);

// The real numbers of the constant that a DequantizeLinear of int8 or uint8 reads.
Tensor dequantized_constant(const NodeReader& dequantize);

}  // namespace qsim::formats
