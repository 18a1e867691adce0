#include "golden/kernels/convert/cuda/host_conversion.h"

#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/stream.h"
#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden::cuda {
namespace {

template <typename T>
void download(const DeviceBuffer& from, std::vector<T>& to) {
  if (to.empty()) return;
  check(cudaMemcpy(to.data(), from.as<T>(), to.size() * sizeof(T), cudaMemcpyDeviceToHost),
        "copying from the device");
}

// A tensor's elements on the device, from the lowest address to the highest.
class DeviceTensor {
 public:
  explicit DeviceTensor(const HalfTensor& x) : tensor_(x) {
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < x.strides.size(); ++i) {
      const std::int64_t reach = (x.shape[i] - 1) * x.strides[i];
      (reach < 0 ? first : last) += reach;
    }
    const std::int64_t elems = element_count(x.shape);
    if (x.strides.empty()) last = elems - 1;
    if (elems == 0) return;
    const auto bytes = static_cast<std::size_t>(last - first + 1) * sizeof *x.data;
    buffer_ = upload_bytes(x.data + first, bytes);
    tensor_.data = buffer_.as<std::uint16_t>() - first;
  }
  const HalfTensor& get() const { return tensor_; }

 private:
  DeviceBuffer buffer_;
  HalfTensor tensor_;
};

// The parts of a quantized tensor on the device.
struct DeviceParts {
  DeviceBuffer values, scales, codes, zero_points, global;
  DeviceQuantized view;

  void connect(const QuantizedTensor& q) {
    view.how = q.how;
    view.shape = q.shape;
    view.values = values.as();
    view.scales = scales.as<float>();
    view.scale_codes = codes.as();
    view.zero_points = zero_points.as<std::int8_t>();
    view.global_scale = global.as<float>();
  }
};

DeviceParts upload_parts(const QuantizedTensor& q) {
  DeviceParts parts;
  parts.values = upload(q.values);
  parts.scales = upload(q.scales);
  parts.codes = upload(q.scale_codes);
  parts.zero_points = upload(q.zero_points);
  parts.global = upload_bytes(&q.global_scale, sizeof q.global_scale);
  parts.connect(q);
  return parts;
}

}  // namespace

void quantize_on_gpu(const HalfTensor& x, const Quantization& how, QuantizedTensor& out,
                     CodecPath path) {
  golden::check(x);
  golden::check(how);
  size_parts(x.shape, how, out);
  const DeviceTensor tensor(x);
  DeviceParts parts;
  parts.values = poisoned(out.values.size());
  parts.scales = poisoned(out.scales.size() * sizeof(float));
  parts.codes = poisoned(out.scale_codes.size());
  parts.zero_points = poisoned(out.zero_points.size());
  parts.global = poisoned(sizeof(float));
  parts.connect(out);
  const DeviceBuffer workspace = poisoned(quantize_workspace_bytes(x.shape, how));
  const Stream stream;
  quantize(tensor.get(), parts.view, workspace.as<void>(), stream.get(), path);
  stream.synchronize("quantizing");
  download(parts.values, out.values);
  download(parts.scales, out.scales);
  download(parts.codes, out.scale_codes);
  download(parts.zero_points, out.zero_points);
  if (how.scales != ScaleFormat::kE4m3) return;
  std::vector<float> global(1);
  download(parts.global, global);
  out.global_scale = global[0];
}

void dequantize_on_gpu(const QuantizedTensor& q, ElementFormat target,
                       std::vector<std::uint16_t>& out) {
  golden::check(q);
  out.resize(static_cast<std::size_t>(element_count(q.shape)));
  const DeviceParts parts = upload_parts(q);
  const DeviceBuffer halves = poisoned(out.size() * sizeof out[0]);
  const Stream stream;
  dequantize(parts.view, target, halves.as<std::uint16_t>(), stream.get());
  stream.synchronize("dequantizing");
  download(halves, out);
}

void int4_to_fp8_on_gpu(const QuantizedTensor& q, ElementFormat target, Int4ToFp8 what,
                        std::vector<std::uint8_t>& out, CodecPath path) {
  golden::check(q);
  check_int4_to_fp8(q.how, target, what);
  out.resize(static_cast<std::size_t>(element_count(q.shape)));
  const DeviceParts parts = upload_parts(q);
  const DeviceBuffer codes = poisoned(out.size());
  const Stream stream;
  int4_to_fp8(parts.view, target, what, codes.as(), stream.get(), path);
  stream.synchronize("converting INT4 to FP8");
  download(codes, out);
}

}  // namespace qsim::golden::cuda
