// Random tensors of training layers, on the host and on the device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/random.h"
#include "golden/common/float_formats.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden_test {

template <typename T>
std::vector<T> download(const golden::cuda::DeviceBuffer& buffer, std::size_t count) {
  std::vector<T> values(count);
  if (count == 0) return values;
  golden::cuda::check(
      cudaMemcpy(values.data(), buffer.as<T>(), count * sizeof(T), cudaMemcpyDeviceToHost),
      "reading results");
  return values;
}

inline float float_of_bfloat16(std::uint16_t code) {
  return golden::float_of(std::uint32_t{code} << 16);
}
inline std::uint16_t bfloat16_of(float value) {
  const std::uint32_t bits = golden::bits_of(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Draws a number of magnitude up to 8, sometimes 0.
inline float random_real(Random& random) {
  if (random.chance(0.05)) return 0;
  const auto significand = static_cast<float>(random.uniform(-(1 << 23), 1 << 23));
  return std::ldexp(significand, static_cast<int>(random.uniform(-28, -20)));
}

inline std::vector<std::int8_t> random_levels(Random& random, std::int64_t count) {
  std::vector<std::int8_t> values(static_cast<std::size_t>(count));
  for (std::int8_t& value : values) value = static_cast<std::int8_t>(random.uniform(-128, 127));
  return values;
}

inline std::vector<std::uint16_t> random_bfloat16(Random& random, std::int64_t count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  for (std::uint16_t& value : values) value = bfloat16_of(random_real(random));
  return values;
}

// Bits of n elements; none in one case of four.
inline std::vector<std::uint8_t> random_passes(Random& random, std::int64_t count) {
  if (random.chance(0.25)) return {};
  std::vector<std::uint8_t> bits(static_cast<std::size_t>((count + 7) / 8));
  for (std::int64_t i = 0; i < count; ++i) {
    if (random.chance(0.8)) {
      bits[static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(1 << i % 8);
    }
  }
  return bits;
}

inline bool passes_of(const std::vector<std::uint8_t>& bits, std::int64_t i) {
  return bits.empty() || (bits[static_cast<std::size_t>(i / 8)] >> (i % 8) & 1) != 0;
}

// A tensor in memory of its own: its axes in any order in memory, with gaps or without.
class StridedTensor {
 public:
  StridedTensor(Random& random, std::array<std::int64_t, 4> shape, golden::train::RealType type) {
    tensor_.shape = shape;
    tensor_.type = type;
    std::array<std::size_t, 4> order = {0, 1, 2, 3};
    if (random.chance(0.4)) {
      order = {0, 3, 1, 2};  // NCHW
    } else if (random.chance(0.2)) {
      for (std::size_t i = 3; i > 0; --i) {
        std::swap(order[i],
                  order[static_cast<std::size_t>(random.uniform(0, static_cast<int>(i)))]);
      }
    }
    const bool gaps = random.chance(0.2);
    std::int64_t stride = gaps ? random.uniform(1, 2) : 1;
    for (std::size_t i = 4; i-- > 0;) {
      tensor_.strides[order[i]] = stride;
      stride = stride * shape[order[i]] + (gaps ? random.uniform(0, 3) : 0);
    }
    memory_.assign(memory_bytes(), 0xA5);
  }

  // Another of the same layout, all of whose bytes are 0xA5.
  explicit StridedTensor(const golden::train::RealTensor& description) : tensor_(description) {
    memory_.assign(memory_bytes(), 0xA5);
  }

  golden::train::RealTensor on_host() {
    golden::train::RealTensor tensor = tensor_;
    tensor.data = memory_.data();
    return tensor;
  }
  golden::train::RealTensor on_device() {
    if (device_.bytes() == 0) device_ = golden::cuda::upload(memory_);
    golden::train::RealTensor tensor = tensor_;
    tensor.data = device_.as<void>();
    return tensor;
  }
  // The bytes on the device, gaps too.
  std::vector<std::uint8_t> downloaded() const {
    return download<std::uint8_t>(device_, memory_.size());
  }
  const std::vector<std::uint8_t>& memory() const { return memory_; }
  void set_memory(std::vector<std::uint8_t> memory) { memory_ = std::move(memory); }
  std::size_t elem_bytes() const {
    return tensor_.type == golden::train::RealType::kFloat32 ? 4 : 2;
  }
  const golden::train::RealTensor& description() const { return tensor_; }

  // Whether what is not an element has its 0xA5 in memory of this layout.
  bool has_same_gaps(const std::vector<std::uint8_t>& memory) const {
    std::vector<bool> is_element(memory.size() / elem_bytes());
    const auto& [b, h, w, c] = tensor_.shape;
    for (std::int64_t i = 0; i < tensor_.elems(); ++i) {
      const std::int64_t at = i / c / w / h * tensor_.strides[0] +
                              i / c / w % h * tensor_.strides[1] + i / c % w * tensor_.strides[2] +
                              i % c * tensor_.strides[3];
      is_element[static_cast<std::size_t>(at)] = true;
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!is_element[i / elem_bytes()] && memory[i] != 0xA5) return false;
    }
    return true;
  }

 private:
  std::size_t memory_bytes() const {
    std::int64_t elems = 16;
    for (std::size_t i = 0; i < 4; ++i) {
      elems += std::max<std::int64_t>(tensor_.shape[i] - 1, 0) * tensor_.strides[i];
    }
    return static_cast<std::size_t>(elems) * elem_bytes();
  }

  golden::train::RealTensor tensor_;
  std::vector<std::uint8_t> memory_;
  golden::cuda::DeviceBuffer device_;
};

}  // namespace qsim::golden_test
