// What the tests of the RTL engine's command line run: a small configuration and a small network.
#pragma once

#include <string>

namespace qsim {

inline const std::string kHand = "--config '" QSIM_SOURCE_DIR "/tests/rtl/engine/hand.yaml' ";
inline constexpr const char* kSmall =
    "name: small\nseed: 4\ninput: {shape: [1, 9, 11, 6], dtype: int8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: conv2d, name: second, out_channels: 5, kernel: 2, stride: 2}\n";

}  // namespace qsim
