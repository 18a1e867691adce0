#include "golden/kernels/convert/cuda/conversion_times.h"

#include "core/base/median.h"
#include "golden/device/cold_timer.h"
#include "golden/device/device_buffer.h"
#include "golden/device/mixed_copy.h"
#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden::cuda {
namespace {

// The buffers of one launch, there and back.
struct Buffers {
  DeviceBuffer x, values, scales, zero_points, global, workspace, back;

  Buffers(const HalfTensor& from, const QuantizedTensor& sizes)
      : x(upload_bytes(from.data, static_cast<std::size_t>(element_count(from.shape)) * 2)),
        values(poisoned(sizes.values.size())),
        scales(poisoned(sizes.scales.size() * sizeof(float) + sizes.scale_codes.size())),
        zero_points(poisoned(sizes.zero_points.size())),
        global(poisoned(sizeof(float))),
        workspace(poisoned(quantize_workspace_bytes(from.shape, sizes.how))),
        back(poisoned(x.bytes())) {}

  DeviceQuantized view(const QuantizedTensor& sizes) const {
    return {sizes.how,          sizes.shape, values.as(),
            scales.as<float>(), scales.as(), zero_points.as<std::int8_t>(),
            global.as<float>()};
  }
};

std::int64_t whole_vectors(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 15) / 16 * 16);
}

}  // namespace

ConversionTimes time_on_gpu(const HalfTensor& x, const Quantization& how) {
  QuantizedTensor sizes;
  size_parts(x.shape, how, sizes);
  const Stream stream;
  const std::size_t halves = static_cast<std::size_t>(element_count(x.shape)) * 2;
  const std::size_t codes =
      sizes.values.size() + sizes.scales.size() * sizeof(float) + sizes.scale_codes.size();
  const int rotations = cold_rotations(std::max<std::size_t>(halves + codes, 1));
  std::vector<Buffers> buffers;
  for (int i = 0; i < rotations; ++i) buffers.emplace_back(x, sizes);
  const auto at = [&](int i) -> const Buffers& { return buffers[static_cast<std::size_t>(i)]; };
  const std::vector<double> convert = time_cold(stream, rotations, [&](int i) {
    const HalfTensor from{x.format, at(i).x.as<std::uint16_t>(), x.shape, {}};
    quantize(from, at(i).view(sizes), at(i).workspace.as<void>(), stream.get());
  });
  const std::vector<double> back = time_cold(stream, rotations, [&](int i) {
    dequantize(at(i).view(sizes), x.format, at(i).back.as<std::uint16_t>(), stream.get());
  });
  ConversionTimes times;
  times.convert = median(convert);
  times.back = median(back);
  times.copy = time_mixed_copy(stream, whole_vectors(halves), whole_vectors(codes));
  times.back_copy = time_mixed_copy(stream, whole_vectors(codes), whole_vectors(halves));
  return times;
}

}  // namespace qsim::golden::cuda
