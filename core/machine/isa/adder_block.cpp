#include "core/machine/isa/adder_block.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/isa/little_endian.h"

namespace qsim {
namespace {

constexpr int kMostLeftShift = 23;
constexpr int kLeftShiftAt = 24;  // bits of an operand's word
constexpr int kUnsignedAt = 31;
constexpr int kFixedBits = 58;
constexpr std::int64_t kFixedEnd = std::int64_t{1} << (kFixedBits - 1);

std::uint64_t operand_word(std::int64_t ratio, bool is_unsigned) {
  const int shift =
      std::max(0, significant_bits(static_cast<std::uint64_t>(ratio)) - kMultiplierBits);
  QSIM_CHECK(ratio >= 0 && shift <= kMostLeftShift && ratio >> shift << shift == ratio,
             "an adder's ratio is no float32 of 2^-16 to 2^8");
  return static_cast<std::uint64_t>(ratio >> shift) |
         static_cast<std::uint64_t>(shift) << kLeftShiftAt |
         static_cast<std::uint64_t>(is_unsigned) << kUnsignedAt;
}

// Shifts of 24 and more mean 8 less, so that all bit patterns stay within the adder's width.
std::int64_t ratio_of(std::uint64_t word) {
  const int shift = static_cast<int>(word >> kLeftShiftAt) & 31;
  return static_cast<std::int64_t>(word & kMostMultiplier)
         << (shift > kMostLeftShift ? shift - 8 : shift);
}

bool is_unsigned(std::uint64_t word) { return (word >> kUnsignedAt & 1) != 0; }

}  // namespace

void write_adder(std::span<std::byte> block, const PsumAdder& adder) {
  const Adder& sum = adder.adder;
  QSIM_CHECK(sum.fixed >= -kFixedEnd && sum.fixed < kFixedEnd, "an adder's constant is too large");
  write_bytes(operand_word(sum.a_ratio, adder.a_is_unsigned), block.first(4));
  write_bytes(operand_word(sum.b_ratio, adder.b_is_unsigned), block.subspan(4, 4));
  write_bytes(static_cast<std::uint64_t>(sum.fixed), block.subspan(8, 8));
}

PsumAdder read_adder(std::span<const std::byte> block, RequantizerRounding rounding) {
  const std::uint64_t a = read_bytes(block.first(4));
  const std::uint64_t b = read_bytes(block.subspan(4, 4));
  const std::uint64_t fixed = read_bytes(block.subspan(8, 8)) << (64 - kFixedBits);
  return {
      {ratio_of(a), ratio_of(b), static_cast<std::int64_t>(fixed) >> (64 - kFixedBits), rounding},
      is_unsigned(a),
      is_unsigned(b)};
}

}  // namespace qsim
