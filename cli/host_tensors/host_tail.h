// Softmax and ArgMax at the end of a model, which the host computes.
#pragma once

#include <string>

#include "core/network/graph.h"

namespace qsim::cli {

// What `host.tail`, which is not empty, makes of `levels`, 8-bit numbers of shape [N, C] with the
// Value `value`: float32 or 8-bit numbers [N, C], or int32 [N] or [N, 1] after ArgMax.
// Softmax is exp(x - max) / sum in float32, the sum from the left; QLinearSoftmax follows
// docs/reference/onnx.md#qlinearsoftmax.
Tensor tail_of(const Tensor& levels, const Value& value, const HostInterface& host);

// The same for float32 numbers [N, C], which a network of float layers gives.
Tensor tail_of_reals(Tensor reals, const HostTail& tail);

// The .npy file of a model's output. What ArgMax gives is int64 there, as ONNX has it.
std::string output_npy(const Tensor& output, const HostTail& tail);

// (level - zero_point) * scale in float32; of scale 1 where there is none.
Tensor dequantized(const Tensor& levels, const Value& value);

}  // namespace qsim::cli
