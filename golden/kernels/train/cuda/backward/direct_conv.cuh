// Gradients of convolutions of small groups, without matrices: a thread has eight channels, which
// are whole groups of x and of y alike, of some pixels that follow each other in a row.
#pragma once

#include "golden/kernels/train/cuda/backward/conv_geometry.h"

namespace qsim::golden::train::cuda {

inline constexpr int kDirectChannels = 8;

// Eight channels of g, bfloat16.
struct EightReals {
  std::uint32_t words[4] = {};

  __device__ void load(const std::uint16_t* from) {
    const uint4 got = __ldg(reinterpret_cast<const uint4*>(from));
    words[0] = got.x;
    words[1] = got.y;
    words[2] = got.z;
    words[3] = got.w;
  }
  // The upper four in the place of the lower.
  __device__ void take_upper() {
    words[0] = words[2];
    words[1] = words[3];
  }
  __device__ float operator[](int channel) const {
    const std::uint32_t word = words[channel / 2];
    return __uint_as_float(channel % 2 == 0 ? word << 16 : word & 0xFFFF0000u);
  }
};

// Whether groups have 1, 2, 4 or 8 channels of x and as many of y, and channels are whole eights.
inline bool has_direct_groups(const LevelConv& conv) {
  const std::int64_t in = conv.in_channels();
  return conv.groups > 1 && in == conv.out_channels() &&
         (in == 1 || in == 2 || in == 4 || in == 8) &&
         conv.x_shape.channels % kDirectChannels == 0 && conv.pixels() > 0;
}

inline int direct_chunks(const LevelConv& conv) {
  return static_cast<int>(conv.x_shape.channels / kDirectChannels);
}

}  // namespace qsim::golden::train::cuda
