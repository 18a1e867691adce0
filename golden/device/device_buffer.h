// Device memory with an owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qsim::golden::cuda {

// Bytes on the current device, aligned to 256. Moves, does not copy. Errors are thrown as
// cuda_error.h says.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);  // contents undefined
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  std::size_t bytes() const { return bytes_; }
  template <typename T = std::uint8_t>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Every byte 0xA5: one that no kernel writes shows. QSIM_CUDA_POISON=0 in the environment leaves
// them unwritten, so that an initialisation checker sees them so.
DeviceBuffer poisoned(std::size_t bytes);

DeviceBuffer upload_bytes(const void* data, std::size_t bytes);
template <typename T>
DeviceBuffer upload(const std::vector<T>& values) {
  return upload_bytes(values.data(), values.size() * sizeof(T));
}

}  // namespace qsim::golden::cuda
