// Between the NHWC tensors of a graph and what its ONNX model reads and writes.
#pragma once

#include "core/network/graph.h"

namespace qsim {

// NHWC to the layout of the model's input or output; `flat` drops H = W = 1.
Tensor to_model_layout(const Tensor& nhwc, HostInterface::Layout layout, bool flat);

// [N, C, H, W] to NHWC.
Tensor from_nchw(const Tensor& nchw);

// (q - zero_point) * scale in float32; of scale 1 where there is none.
Tensor to_real(const Tensor& quantized, const Value& value);

}  // namespace qsim
