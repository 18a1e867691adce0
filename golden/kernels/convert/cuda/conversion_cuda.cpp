// The conversions as launches of kernels.
#include "golden/kernels/convert/cuda/conversion_cuda.h"

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"
#include "golden/kernels/convert/cuda/launches.h"
#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden::cuda {

void quantize(const HalfTensor& x, const DeviceQuantized& out, void* workspace, void* stream,
              CodecPath path) {
  const QuantizePlan plan = plan_quantize(x, out, workspace);
  auto* const queue = static_cast<cudaStream_t>(stream);
  const std::size_t bytes = quantize_workspace_bytes(x.shape, out.how);
  if (bytes != 0) check(cudaMemsetAsync(workspace, 0, bytes, queue), "clearing the workspace");
  const QuantizeLaunch launch{plan, out.how.format, path == CodecPath::kSoftware, queue};
  if (x.format == ElementFormat::kHalf) {
    launch_quantize_half(launch);
  } else {
    launch_quantize_bfloat16(launch);
  }
}

void dequantize(const DeviceQuantized& q, ElementFormat target, std::uint16_t* out, void* stream) {
  check_half_target(target);
  launch_dequantize(plan_decode(q, kChunk, true, out), q.how.format, target,
                    static_cast<cudaStream_t>(stream));
}

void int4_to_fp8(const DeviceQuantized& q, ElementFormat target, Int4ToFp8 what, std::uint8_t* out,
                 void* stream, CodecPath path) {
  check_int4_to_fp8(q.how, target, what);
  launch_int4_to_fp8(plan_decode(q, 2 * kChunk, what == Int4ToFp8::kProduct, out), target,
                     path == CodecPath::kSoftware, static_cast<cudaStream_t>(stream));
}

}  // namespace qsim::golden::cuda
