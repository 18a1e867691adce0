// The conversions of a build without nvcc: it says so.
#include "core/base/error.h"
#include "golden/device/devices.h"
#include "golden/kernels/convert/cuda/conversion_times.h"
#include "golden/kernels/convert/cuda/host_conversion.h"

namespace qsim::golden::cuda {

void quantize(const HalfTensor&, const DeviceQuantized&, void*, void*, CodecPath) { use_device(0); }
void dequantize(const DeviceQuantized&, ElementFormat, std::uint16_t*, void*) { use_device(0); }
void int4_to_fp8(const DeviceQuantized&, ElementFormat, Int4ToFp8, std::uint8_t*, void*,
                 CodecPath) {
  use_device(0);
}
void quantize_on_gpu(const HalfTensor&, const Quantization&, QuantizedTensor&, CodecPath) {
  use_device(0);
}
void dequantize_on_gpu(const QuantizedTensor&, ElementFormat, std::vector<std::uint16_t>&) {
  use_device(0);
}
void int4_to_fp8_on_gpu(const QuantizedTensor&, ElementFormat, Int4ToFp8,
                        std::vector<std::uint8_t>&, CodecPath) {
  use_device(0);
}

ConversionTimes time_on_gpu(const HalfTensor&, const Quantization&) {
  use_device(0);
  return {};
}

}  // namespace qsim::golden::cuda
