// A binary convolution run on the device for a test: memory with guards around the output.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/device/device_buffer.h"
#include "golden/device/stream.h"
#include "golden/kernels/binary/cuda/binary_cuda.h"

namespace qsim::golden_test {

// Device memory that grows and is used again, since cases are many and small.
class Arena {
 public:
  // At least `bytes`, filled with 0xA5 as far as they go and 64 bytes beyond.
  void* poisoned(std::size_t bytes, const golden::cuda::Stream& stream);
  // A copy of host memory.
  void* upload(const void* data, std::size_t bytes, const golden::cuda::Stream& stream);
  // The first `bytes` back; throws InternalError when a byte beyond them was written.
  std::vector<std::uint8_t> download(std::size_t bytes, const golden::cuda::Stream& stream) const;

 private:
  void grow(std::size_t bytes);
  golden::cuda::DeviceBuffer buffer_;
};

// Where a layer's tables come from: the host, before all work, which the launch promises; or the
// kernel before it on the stream, so that they are wrong until that one has ended. Tables above
// 32 KiB come from a copy instead of that kernel.
enum class TablesFrom : std::uint8_t { kHost, kKernel };

class DeviceLayer {
 public:
  // The output of a planned layer: its bytes as the device wrote them.
  std::vector<std::uint8_t> run(const golden::BinaryCudaPlan& plan, const golden::BitTensor& input,
                                TablesFrom from);
  std::vector<std::uint8_t> pack(const std::vector<float>& x, const ImageShape& shape,
                                 const std::vector<float>& v);
  std::vector<std::uint8_t> pack_signs(const std::vector<float>& x, const ImageShape& shape);
  std::vector<std::uint8_t> unpack(const golden::BitTensor& bits, int base);

 private:
  // `tables` on the device, as `from` says.
  const void* tables(const std::vector<std::uint8_t>& tables, TablesFrom from);

  golden::cuda::Stream stream_;
  Arena packed_;
  Arena signs_;  // of the tables' bits
  Arena input_;
  Arena output_;
};

}  // namespace qsim::golden_test
