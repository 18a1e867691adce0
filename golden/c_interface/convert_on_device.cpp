#include "golden/c_interface/convert_views.h"
#include "golden/c_interface/device_call.h"
#include "golden/kernels/convert/cuda/conversion_cuda.h"

namespace qsim::golden::c_interface {
namespace {

cuda::DeviceQuantized device_parts(const QuantizedViews& views, const Quantization& how) {
  cuda::DeviceQuantized q;
  q.how = how;
  q.shape = views.values.shape;
  q.values = reinterpret_cast<std::uint8_t*>(views.values.data);
  if (how.scales == ScaleFormat::kFp32) {
    q.scales = reinterpret_cast<float*>(views.scales.data);
  } else {
    q.scale_codes = reinterpret_cast<std::uint8_t*>(views.scales.data);
  }
  if (views.zero_points) q.zero_points = reinterpret_cast<std::int8_t*>(views.zero_points->data);
  if (views.global_scale) q.global_scale = reinterpret_cast<float*>(views.global_scale->data);
  return q;
}

}  // namespace

void quantize_on_device(const Call& call, const HalfTensor& x, const Quantization& how,
                        const QuantizedViews& views) {
  const std::size_t bytes =
      as_device_work([&] { return cuda::quantize_workspace_bytes(x.shape, how); });
  if (call.answers_query(bytes)) return;
  call.require_workspace(bytes);
  on_device(call, [&] {
    cuda::quantize(x, device_parts(views, how), call.run().workspace, call.run().stream);
  });
}

void dequantize_on_device(const Call& call, const QuantizedViews& views, const Quantization& how,
                          ElementFormat target, const View& y) {
  require_dense({&y});
  if (call.answers_query(0)) return;
  on_device(call, [&] {
    cuda::dequantize(device_parts(views, how), target, reinterpret_cast<std::uint16_t*>(y.data),
                     call.run().stream);
  });
}

void int4_to_fp8_on_device(const Call& call, const QuantizedViews& views, const Quantization& how,
                           ElementFormat target, Int4ToFp8 what, const View& y) {
  if (call.answers_query(0)) return;
  on_device(call, [&] {
    cuda::int4_to_fp8(device_parts(views, how), target, what,
                      reinterpret_cast<std::uint8_t*>(y.data), call.run().stream);
  });
}

}  // namespace qsim::golden::c_interface
