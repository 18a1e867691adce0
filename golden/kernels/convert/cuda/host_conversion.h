// The conversions on the current GPU of tensors in host memory: upload, convert, download. A build
// without nvcc throws Error.
#pragma once

#include "golden/kernels/convert/cuda/conversion_cuda.h"

namespace qsim::golden::cuda {

// These do what golden::quantize, golden::dequantize and golden::int4_to_fp8 do.
void quantize_on_gpu(const HalfTensor& x, const Quantization& how, QuantizedTensor& out,
                     CodecPath path = CodecPath::kAuto);
void dequantize_on_gpu(const QuantizedTensor& q, ElementFormat target,
                       std::vector<std::uint16_t>& out);
void int4_to_fp8_on_gpu(const QuantizedTensor& q, ElementFormat target, Int4ToFp8 what,
                        std::vector<std::uint8_t>& out, CodecPath path = CodecPath::kAuto);

}  // namespace qsim::golden::cuda
