#include "tests/golden/train/cuda/call_buffers.h"

#include <algorithm>

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"

namespace qsim::golden_test {

namespace {
constexpr std::size_t kPadding = 16;  // after a buffer: what is written there is seen too
}

std::size_t CallBuffers::add(const void* data, std::size_t bytes, std::size_t shift) {
  Buffer buffer;
  buffer.host.assign(shift + bytes + kPadding, 0xA5);
  if (bytes > 0) std::memcpy(buffer.host.data() + shift, data, bytes);
  buffer.shift = shift;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

std::size_t CallBuffers::add_output(std::int64_t bytes, std::size_t shift) {
  return add(std::vector<std::uint8_t>(static_cast<std::size_t>(bytes), 0xA5), shift);
}

void CallBuffers::upload() {
  for (Buffer& buffer : buffers_) {
    buffer.device = golden::cuda::upload_bytes(buffer.host.data(), buffer.host.size());
  }
}

std::vector<std::uint8_t> CallBuffers::from_device(std::size_t index) const {
  const Buffer& buffer = buffers_[index];
  std::vector<std::uint8_t> bytes(buffer.host.size());
  golden::cuda::check(
      cudaMemcpy(bytes.data(), buffer.device.as<>(), bytes.size(), cudaMemcpyDeviceToHost),
      "reading what a call wrote");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(buffer.shift));
  return bytes;
}

std::string CallBuffers::first_difference(const std::vector<std::size_t>& without) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (std::find(without.begin(), without.end(), i) != without.end()) continue;
    const std::vector<std::uint8_t> found = from_device(i);
    const auto* expected = buffers_[i].host.data() + buffers_[i].shift;
    const auto at = std::mismatch(found.begin(), found.end(), expected).first - found.begin();
    if (at == static_cast<std::ptrdiff_t>(found.size())) continue;
    return "buffer " + std::to_string(i) + ", byte " + std::to_string(at) + " of " +
           std::to_string(found.size()) + " is " +
           std::to_string(found[static_cast<std::size_t>(at)]) + ", not " +
           std::to_string(expected[at]);
  }
  return "";
}

}  // namespace qsim::golden_test
