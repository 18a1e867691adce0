// Tensors of more than 2^31 elements: rows that repeat, so that the CPU converts one period.
#include <cstring>
#include <iostream>

#include "core/base/random.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/stream.h"
#include "golden/kernels/convert/cuda/conversion_cuda.h"
#include "tests/golden/convert/cuda/check_commands.h"

namespace qsim::golden_test {
namespace {

using namespace qsim::golden;
using cuda::DeviceBuffer;

constexpr std::int64_t kPeriod = 1000;  // rows; their bytes are not a power of two
constexpr std::int64_t kElems = (std::int64_t{1} << 31) + 50'000'000;

// The bytes of a device buffer that are not those of the period.
std::uint64_t mismatches(const DeviceBuffer& buffer, const void* period, std::size_t period_bytes) {
  std::vector<std::uint8_t> piece(period_bytes * 64);
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < buffer.bytes(); at += piece.size()) {
    const std::size_t bytes = std::min(piece.size(), buffer.bytes() - at);
    cuda::check(cudaMemcpy(piece.data(), buffer.as() + at, bytes, cudaMemcpyDeviceToHost),
                "copying from the device");
    for (std::size_t i = 0; i < bytes; i += period_bytes) {
      const std::size_t count = std::min(period_bytes, bytes - i);
      if (std::memcmp(&piece[i], period, count) == 0) continue;
      for (std::size_t k = 0; k < count; ++k) {
        wrong += piece[i + k] != static_cast<const std::uint8_t*>(period)[k] ? 1 : 0;
      }
    }
  }
  return wrong;
}

DeviceBuffer repeated(const std::vector<std::uint16_t>& period, std::int64_t elems) {
  DeviceBuffer buffer(static_cast<std::size_t>(elems) * 2);
  for (std::size_t at = 0; at < buffer.bytes(); at += period.size() * 2) {
    const std::size_t bytes = std::min(period.size() * 2, buffer.bytes() - at);
    cuda::check(cudaMemcpy(buffer.as() + at, period.data(), bytes, cudaMemcpyHostToDevice),
                "copying to the device");
  }
  cuda::check(cudaStreamSynchronize(nullptr), "copying to the device");
  return buffer;
}

bool check_rows_of(std::int64_t cols) {
  Random random(static_cast<std::uint64_t>(cols));
  std::vector<std::uint16_t> period(static_cast<std::size_t>(kPeriod * cols));
  for (std::uint16_t& code : period) code = static_cast<std::uint16_t>(random.next()) & 0xBFFF;
  const Quantization how{.format = ElementFormat::kInt4, .group = 128};
  ThreadTeam team(0);
  QuantizedTensor expected;
  quantize({ElementFormat::kHalf, period.data(), {kPeriod, cols}, {}}, how, team, VectorPath::kAuto,
           expected);
  std::vector<std::uint16_t> halves;
  std::vector<std::uint8_t> fp8;
  dequantize(expected, ElementFormat::kHalf, team, VectorPath::kAuto, halves);
  int4_to_fp8(expected, ElementFormat::kE4m3, Int4ToFp8::kProduct, team, VectorPath::kAuto, fp8);

  const Shape shape = {kElems / cols, cols};
  const GroupLayout layout = group_layout(shape, how);
  const std::int64_t elems = layout.rows * layout.cols;
  const cuda::Stream stream;
  DeviceBuffer values = cuda::poisoned(static_cast<std::size_t>(layout.rows * layout.row_bytes));
  DeviceBuffer scales = cuda::poisoned(static_cast<std::size_t>(layout.scale_count) * 4);
  cuda::DeviceQuantized q;
  q.how = how;
  q.shape = shape;
  q.values = values.as();
  q.scales = scales.as<float>();
  std::uint64_t wrong = 0;
  {
    const DeviceBuffer x = repeated(period, elems);
    cuda::quantize({ElementFormat::kHalf, x.as<std::uint16_t>(), shape, {}}, q, nullptr,
                   stream.get());
    stream.synchronize("quantizing");
    wrong += mismatches(values, expected.values.data(), expected.values.size());
    wrong += mismatches(scales, expected.scales.data(), expected.scales.size() * 4);
  }
  DeviceBuffer back = cuda::poisoned(static_cast<std::size_t>(elems) * 2);
  cuda::dequantize(q, ElementFormat::kHalf, back.as<std::uint16_t>(), stream.get());
  stream.synchronize("dequantizing");
  wrong += mismatches(back, halves.data(), halves.size() * 2);
  DeviceBuffer codes = cuda::poisoned(static_cast<std::size_t>(elems));
  cuda::int4_to_fp8(q, ElementFormat::kE4m3, Int4ToFp8::kProduct, codes.as(), stream.get());
  stream.synchronize("converting INT4 to FP8");
  wrong += mismatches(codes, fp8.data(), fp8.size());
  std::cout << "rows of " << cols << ": " << elems
            << " elements to int4, back to fp16, to fp8: " << wrong << " wrong bytes" << std::endl;
  return wrong == 0;
}

}  // namespace

bool check_large() {
  const bool full = check_rows_of(4096);
  const bool tails = check_rows_of(4101);  // odd rows, whose last group has 5 elements
  return full && tails;
}

}  // namespace qsim::golden_test
