// Elements of tensors of real numbers as floats, and bits of `passes`.
#pragma once

#include <cstdint>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

// Elements first..first + count - 1 in row-major order.
void load_span(const RealTensor& x, std::int64_t first, std::int64_t count, float* to);
// Rounds to nearest, ties to even.
void store_span(const RealTensor& x, std::int64_t first, std::int64_t count, const float* from);

inline bool bit_of(const std::uint8_t* bits, std::int64_t index) {
  return (bits[index / 8] >> (index % 8) & 1) != 0;
}
// Null: all pass.
inline bool passes_at(const std::uint8_t* bits, std::int64_t index) {
  return bits == nullptr || bit_of(bits, index);
}

// Writes bits one after the other, from a multiple of 8 on. Null: nothing is written.
class BitWriter {
 public:
  BitWriter(std::uint8_t* bits, std::int64_t first) : bits_(bits), index_(first) {}
  void put(bool bit) {
    if (bits_ == nullptr) return;
    if (index_ % 8 == 0) bits_[index_ / 8] = 0;
    bits_[index_ / 8] = static_cast<std::uint8_t>(bits_[index_ / 8] | (bit ? 1 : 0) << index_ % 8);
    ++index_;
  }

 private:
  std::uint8_t* bits_;
  std::int64_t index_;
};

}  // namespace qsim::golden::train
