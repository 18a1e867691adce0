#include "golden/device/device_buffer.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) check(cudaMalloc(&data_, bytes), "allocating device memory");
}

DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

namespace {

// The default stream fills and copies; a copy from pageable memory returns when it is staged, and
// a fill at once. Streams of golden do not wait for that stream, so their first kernel might read
// what is not there yet, or be overwritten.
void wait_for_default_stream(const char* what) { check(cudaStreamSynchronize(nullptr), what); }

}  // namespace

DeviceBuffer poisoned(std::size_t bytes) {
  constexpr int kPoison = 0xA5;
  DeviceBuffer buffer(bytes);
  const char* wish = std::getenv("QSIM_CUDA_POISON");
  if (wish != nullptr && std::string_view(wish) == "0") return buffer;
  check(cudaMemset(buffer.as<void>(), kPoison, bytes), "filling device memory");
  wait_for_default_stream("filling device memory");
  return buffer;
}

DeviceBuffer upload_bytes(const void* data, std::size_t bytes) {
  DeviceBuffer buffer(bytes);
  if (bytes > 0) {
    check(cudaMemcpy(buffer.as<void>(), data, bytes, cudaMemcpyHostToDevice),
          "copying to the device");
    wait_for_default_stream("copying to the device");
  }
  return buffer;
}

}  // namespace qsim::golden::cuda
