// The checked parts of a quantized tensor, which the CPU and a GPU convert.
#pragma once

#include <optional>

#include "golden/c_interface/tensor_view.h"
#include "golden/kernels/convert/conversion.h"

namespace qsim::golden::c_interface {

struct QuantizedViews {
  View values;
  View scales;
  std::optional<View> zero_points;
  std::optional<View> global_scale;
};

// Enqueue on the call's stream. All tensors are on a GPU and fit each other; x may have gaps. Throw
// Error for another tensor with gaps, and where the workspace is too small.
void quantize_on_device(const Call& call, const HalfTensor& x, const Quantization& how,
                        const QuantizedViews& views);
void dequantize_on_device(const Call& call, const QuantizedViews& views, const Quantization& how,
                          ElementFormat target, const View& y);
void int4_to_fp8_on_device(const Call& call, const QuantizedViews& views, const Quantization& how,
                           ElementFormat target, Int4ToFp8 what, const View& y);

}  // namespace qsim::golden::c_interface
