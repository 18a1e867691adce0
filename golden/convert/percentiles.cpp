#include "golden/convert/percentiles.h"

#include "golden/convert/conversion_spans.h"

namespace qsim::golden {

void Magnitudes::add(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t magnitude = x[i] & 0x7FFF;
    if (magnitude >= infinity) continue;
    ++counts_[magnitude];
    ++total_;
  }
}

std::uint16_t Magnitudes::percentile(std::int64_t parts_per_million) const {
  if (total_ == 0) return 0;
  std::int64_t left = percentile_rank(total_, parts_per_million);
  std::size_t magnitude = 0;
  while ((left -= counts_[magnitude]) > 0) ++magnitude;
  return static_cast<std::uint16_t>(magnitude);
}

std::uint16_t small_percentile(const std::uint16_t* x, std::int64_t count, std::uint16_t infinity,
                               std::int64_t parts_per_million) {
  std::uint16_t found[kSpan];
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t magnitude = x[i] & 0x7FFF;
    if (magnitude < infinity) found[total++] = magnitude;
  }
  if (total == 0) return 0;
  const std::int64_t rank = percentile_rank(total, parts_per_million) - 1;
  std::nth_element(found, found + rank, found + total);
  return found[rank];
}

}  // namespace qsim::golden
