// Integer helpers for shapes and addresses: every product or sum that depends on a model's sizes is
// computed by these, so that an absurd model is an Error and never a wrapped number.
#pragma once

#include <bit>
#include <cstdint>

#include "core/base/error.h"

namespace qsim {

// It knows nothing of whose size it is: the caller who does says so (with_place).
class SizeOverflow : public Error {
 public:
  explicit SizeOverflow(const std::string& message) : Error(ExitCode::kBadInput, message) {}
};

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw SizeOverflow("size overflow: " + std::to_string(a) + " x " + std::to_string(b) +
                       " does not fit 64 bits");
  }
  return product;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw SizeOverflow("size overflow: " + std::to_string(a) + " + " + std::to_string(b) +
                       " does not fit 64 bits");
  }
  return sum;
}

// What `work` gives; a size that overflows in it is told with its place in front.
template <typename Work>
auto with_place(const std::string& place, Work work) {
  try {
    return work();
  } catch (const SizeOverflow& error) {
    throw_bad_input(place + ": " + error.what());
  }
}

// Smallest q with q * b >= a; a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Smallest multiple of `unit` that is >= a; a >= 0, unit > 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return ceil_div(a, unit) * unit;
}

constexpr bool is_power_of_two(std::int64_t a) {
  return a > 0 && std::has_single_bit(static_cast<std::uint64_t>(a));
}

}  // namespace qsim
