#include "golden/graph/cpu/output_stage.h"

#include <algorithm>

namespace qsim::golden {

void OutputStage::finish(const std::int32_t* acc, int row_count, const PackedWeights& packed,
                         std::size_t panel, std::uint8_t* out) const {
  const Requantization& rq = requantization_;
  const auto stride = static_cast<std::size_t>(output_.shape.channels);
  const std::int64_t first = static_cast<std::int64_t>(panel) * kPanelChannels;
  const auto channels =
      static_cast<int>(std::min<std::int64_t>(kPanelChannels, packed.channels - first));
  const OutputRange range{output_.zero_point, rq.lo, rq.hi};
  out += first;
  switch (packed.rule) {
    case OutputRule::kShifts:
      return kernels_.requantize_tile(acc, row_count, packed.shifts[panel], range, channels, out,
                                      stride);
    case OutputRule::kScales:
      return kernels_.requantize_scaled_tile(acc, row_count, packed.scales[panel], range, channels,
                                             out, stride);
    case OutputRule::kWide:
      break;
  }
  for (int r = 0; r < row_count; ++r, acc += kPanelChannels, out += stride) {
    for (std::int64_t c = 0; c < channels; ++c) {
      out[c] = static_cast<std::uint8_t>(
          rq.level(acc[c], bias_[first + c], first_channel_ + first + c, range.zero_point));
    }
  }
}

}  // namespace qsim::golden
