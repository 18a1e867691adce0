// What an engine says of one picture: its best classes, and a fingerprint of its output's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace qsim {

inline constexpr std::size_t kBestClasses = 5;

struct Prediction {
  std::array<std::int32_t, kBestClasses> best{};  // best first; -1 where there are fewer classes
  std::uint64_t bytes = 0;  // of an integer engine: FNV-1a of the output's bytes; else 0

  std::int32_t top1() const { return best[0]; }
  bool has_in_best(int label) const;
  bool operator==(const Prediction&) const = default;
};

// Of equal scores the lower class is the better one; what is not a number is the worst.
Prediction prediction_of(std::span<const float> scores);
// Of 8-bit levels, as `is_unsigned` says.
Prediction prediction_of(std::span<const std::byte> levels, bool is_unsigned);

}  // namespace qsim
