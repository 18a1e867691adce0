// The group conversions of golden/kernels/convert on a GPU: the same bits. Functions take device
// pointers and a stream; they enqueue and return, and neither allocate nor wait. A build without
// nvcc has the same interface, which throws Error.
#pragma once

#include "golden/kernels/convert/conversion.h"

namespace qsim::golden::cuda {

// Which instructions make FP8 codes: kAuto takes those of the device where it has them (compute
// capability 9.0), kSoftware integer arithmetic everywhere. The bits are the same.
enum class CodecPath : std::uint8_t { kAuto, kSoftware };

// A quantized tensor in device memory, laid out as QuantizedTensor is. What `how` does not have may
// be null.
struct DeviceQuantized {
  Quantization how;
  Shape shape;
  std::uint8_t* values = nullptr;       // rows * row_bytes
  float* scales = nullptr;              // of kFp32
  std::uint8_t* scale_codes = nullptr;  // of kUe8m0 and kE4m3
  std::int8_t* zero_points = nullptr;
  float* global_scale = nullptr;  // of kE4m3: one number
};

// Device bytes that quantize() needs for a tensor; 0 where it needs none.
std::size_t quantize_workspace_bytes(const Shape& shape, const Quantization& how);

// x.data, the parts of `out` and `workspace` are device memory; workspace is aligned to 256. Throws
// Error for what the definition does not have, and for a refused launch. `stream` is a
// cudaStream_t.
void quantize(const HalfTensor& x, const DeviceQuantized& out, void* workspace, void* stream,
              CodecPath path = CodecPath::kAuto);

// `out` has element_count(q.shape) elements, row-major; target and errors as golden::dequantize.
void dequantize(const DeviceQuantized& q, ElementFormat target, std::uint16_t* out, void* stream);

// Does what golden::int4_to_fp8 does, with one byte an element.
void int4_to_fp8(const DeviceQuantized& q, ElementFormat target, Int4ToFp8 what, std::uint8_t* out,
                 void* stream, CodecPath path = CodecPath::kAuto);

}  // namespace qsim::golden::cuda
