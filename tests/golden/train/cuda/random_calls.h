// Random tensors, levels and convolutions for the calls of training layers.
#pragma once

#include "tests/golden/train/cuda/call_buffers.h"

namespace qsim::golden_test {

// A tensor whose elements are in a buffer; its data is set by tensor_at().
struct RandomReal {
  golden::train::RealTensor tensor;
  std::size_t buffer = 0;
  std::int64_t first = 0;  // element of the buffer where the tensor begins
};

enum class RealNumbers : std::uint8_t { kUsual, kTies, kAnything };

// `step`: kTies are halves of it.
RandomReal random_real(Random& random, CallBuffers& buffers,
                       const std::array<std::int64_t, 4>& shape, RealNumbers numbers,
                       float step = 0.5F);
golden::train::RealTensor tensor_at(const RandomReal& real, CallBuffers& buffers, bool on_device);

std::vector<std::int8_t> random_bytes(Random& random, std::int64_t count);
float random_scale(Random& random);
golden::train::Levels random_levels(Random& random, bool may_be_affine);
std::size_t random_shift(Random& random);

// q and w of a convolution.
struct CallConv {
  golden::train::LevelConv conv;
  std::size_t q = 0;
  std::size_t w = 0;
  std::optional<std::size_t> zero_point;
};
CallConv random_conv(Random& random, CallBuffers& buffers);
golden::train::LevelConv conv_at(const CallConv& conv, CallBuffers& buffers, bool on_device);
std::string text_of(const golden::train::LevelConv& conv);

}  // namespace qsim::golden_test
