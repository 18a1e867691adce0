// The percentile of a group's magnitudes, by nearest rank (percentile_rank): of groups of any size
// by counting, of a span's by selection.
#pragma once

#include <cstdint>
#include <vector>

namespace qsim::golden {

// Counts of each magnitude of 16-bit codes: percentiles of groups of any size.
class Magnitudes {
 public:
  // Codes from `infinity` on, without their sign, do not count.
  void add(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity);
  // 0 if nothing was counted.
  std::uint16_t percentile(std::int64_t parts_per_million) const;

 private:
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(0x8000);
  std::int64_t total_ = 0;
};

// The same of at most kSpan elements in one place.
std::uint16_t small_percentile(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity,
                               std::int64_t parts_per_million);

}  // namespace qsim::golden
