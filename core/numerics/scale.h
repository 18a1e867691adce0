// The scale of a quantized tensor: a positive float32, which is exactly an integer of 24 bits times
// a power of two. So whatever multiplies by a scale needs no floating point.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

namespace qsim {

class Scale {
 public:
  static constexpr int kMinLog2 = -149;  // of the smallest subnormal float32
  static constexpr int kMaxLog2 = 127;

  // Nothing for a number that cannot be a scale: zero, negative, infinite or not a number.
  static constexpr std::optional<Scale> of(float real) {
    const auto bits = std::bit_cast<std::uint32_t>(real);
    if (bits == 0 || bits >= kInfinity) return std::nullopt;
    return Scale(bits);
  }

  // 2^log2, with kMinLog2 <= log2 <= kMaxLog2.
  static constexpr Scale power_of_two(int log2) {
    if (log2 >= kMinNormalLog2) {
      return Scale(static_cast<std::uint32_t>(log2 - kMinNormalLog2 + 1) << kFractionBits);
    }
    return Scale(std::uint32_t{1} << (log2 - kMinLog2));
  }

  constexpr float real() const { return std::bit_cast<float>(bits_); }

  // real() == multiplier() * 2^exponent(), exactly, with 2^23 <= multiplier() < 2^24.
  // exponent() is -172..104. (IEEE 754: a normal float32 is 1.fraction * 2^(biased - 127), a
  // subnormal one 0.fraction * 2^-126.)
  constexpr std::uint32_t multiplier() const {
    const std::uint32_t fraction = bits_ & kFractionMask;
    return is_normal() ? fraction | kImplicitBit : fraction << leading_zeros();
  }
  constexpr int exponent() const {
    const int biased = static_cast<int>(bits_ >> kFractionBits);
    return is_normal() ? biased - 1 + kMinLog2 : kMinLog2 - leading_zeros();
  }

  // The exponent n of a scale 2^n; nothing for another scale.
  constexpr std::optional<int> log2() const {
    if (multiplier() != kImplicitBit) return std::nullopt;
    return exponent() + kFractionBits;
  }

  constexpr bool operator==(const Scale&) const = default;

 private:
  static constexpr int kFractionBits = 23;
  static constexpr int kMinNormalLog2 = -126;
  static constexpr std::uint32_t kImplicitBit = std::uint32_t{1} << kFractionBits;
  static constexpr std::uint32_t kFractionMask = kImplicitBit - 1;
  static constexpr std::uint32_t kInfinity = 0x7F800000;  // larger: not a number, or negative

  explicit constexpr Scale(std::uint32_t bits) : bits_(bits) {}

  constexpr bool is_normal() const { return bits_ >= kImplicitBit; }
  // The leading zeros of a subnormal's fraction, in 24 bits.
  constexpr int leading_zeros() const { return std::countl_zero(bits_) - (31 - kFractionBits); }

  std::uint32_t bits_;
};

static_assert(Scale::of(0.75F)->multiplier() == 0xC00000);
static_assert(Scale::of(0.75F)->exponent() == -24);
static_assert(Scale::power_of_two(-149).real() == 0x1p-149F);

}  // namespace qsim
