// The tensors of a call, on the CPU and on a GPU: the same bytes before, compared after.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "golden/device/device_buffer.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden_test {

// Where a call's pointers point to. A call is made twice, with pointers of either side.
class CallBuffers {
 public:
  // Adds bytes, `shift` beyond an aligned address. Returns what at() takes.
  std::size_t add(const void* data, std::size_t bytes, std::size_t shift = 0);
  template <typename T>
  std::size_t add(const std::vector<T>& values, std::size_t shift = 0) {
    return add(values.data(), values.size() * sizeof(T), shift);
  }
  // Bytes that an output overwrites.
  std::size_t add_output(std::int64_t bytes, std::size_t shift = 0);

  void upload();
  template <typename T>
  T* at(std::size_t index, bool on_device) {
    Buffer& buffer = buffers_[index];
    std::uint8_t* base = on_device ? buffer.device.as<>() : buffer.host.data();
    return reinterpret_cast<T*>(base + buffer.shift);
  }
  // Null for none.
  template <typename T>
  T* at(std::optional<std::size_t> index, bool on_device) {
    return index ? at<T>(*index, on_device) : nullptr;
  }

  // The first byte where the two sides differ, in words; empty: none. Buffers in `without` are left
  // out.
  std::string first_difference(const std::vector<std::size_t>& without = {}) const;
  std::vector<std::uint8_t> from_device(std::size_t index) const;

 private:
  struct Buffer {
    std::vector<std::uint8_t> host;
    golden::cuda::DeviceBuffer device;
    std::size_t shift = 0;
  };
  std::vector<Buffer> buffers_;
};

// Bytes of the bits of `elems` elements.
inline std::int64_t bit_bytes(std::int64_t elems) { return (elems + 7) / 8; }

}  // namespace qsim::golden_test
