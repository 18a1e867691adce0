// A layer's weights in device memory with an owner, and random ones for times.
#pragma once

#include <span>

#include "golden/device/device_buffer.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/cuda/linear_launch.h"

namespace qsim::golden::cuda {

// Rows begin at multiples of 16 bytes; 4 bits are two a byte. zero_points that are all 8 are left
// out.
class OwnedWeights {
 public:
  // is_signed: 4 bits are stored in two's complement, 8 less than LinearWeights has them.
  OwnedWeights(const LinearWeights& weights, std::span<const float> bias, bool is_signed);
  // Leaves the memory unfilled, for random_device_weights().
  explicit OwnedWeights(const LinearTimingCase& one);

  DeviceWeights view() const;

 private:
  friend OwnedWeights random_device_weights(const LinearTimingCase& one, std::uint32_t seed);

  DeviceWeights sizes_;
  DeviceBuffer values_, scales_, zero_points_, bias_;
};

// Weights in -127..127 or 0..15, scales within 2^-14..2^-13, made on the device.
OwnedWeights random_device_weights(const LinearTimingCase& one, std::uint32_t seed);
// Numbers of both signs, of magnitudes within 2^-4..2.
DeviceBuffer random_device_floats(FloatType type, std::int64_t count, std::uint32_t seed);

}  // namespace qsim::golden::cuda
