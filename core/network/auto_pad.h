// The padding that ONNX's auto_pad SAME stands for.
#pragma once

#include <cstdint>

namespace qsim {

// The positions before an axis, of `total` on both sides; the odd one is at the end for SAME_UPPER,
// else at the beginning. Where windows leave out positions, `total` and the result are below 0: the
// first window begins behind some of these, as ONNX Runtime's convolutions have it.
inline std::int64_t same_pad_begin(std::int64_t total, bool is_upper) {
  return (total + (is_upper ? 0 : 1) + (total < 0 ? 1 : 0)) / 2;
}

}  // namespace qsim
