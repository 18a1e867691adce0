#include "golden/cpu/packed_weights.h"

#include <cstring>

#include "core/checked_math.h"
#include "golden/common/channel_sums.h"
#include "golden/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

// Panels are written in slices of this many quads (8 KiB), which stay in the first-level cache
// while the rows of 32 channels pass.
constexpr std::size_t kSliceQuads = 64;

void pack_panel(const std::int8_t* rows, std::size_t row_count, std::size_t depth,
                std::size_t quads, std::int8_t* panel) {
  const std::size_t whole_quads = depth / kQuad;
  for (std::size_t slice = 0; slice < quads; slice += kSliceQuads) {
    const std::size_t end = std::min(slice + kSliceQuads, whole_quads);
    for (std::size_t c = 0; c < row_count; ++c) {
      for (std::size_t quad = slice; quad < end; ++quad) {
        std::memcpy(panel + (quad * kPanelChannels + c) * kQuad, rows + c * depth + quad * kQuad,
                    kQuad);
      }
    }
  }
  if (whole_quads == quads) return;
  for (std::size_t c = 0; c < row_count; ++c) {
    std::memcpy(panel + (whole_quads * kPanelChannels + c) * kQuad,
                rows + c * depth + whole_quads * kQuad, depth - whole_quads * kQuad);
  }
}

void set_rounding(RoundingPanel& panel, std::size_t c, int shift, RoundingMode mode) {
  panel.shift[c] = shift;
  if (shift == 0) return;
  // The parts of rounding_addend() that depend on nothing, on the bit at `shift`, on the sign.
  const std::int64_t floor_of_even = rounding_addend(0, shift, mode);
  panel.addend[c] = static_cast<std::int32_t>(floor_of_even);
  panel.even[c] = mode == RoundingMode::kHalfEven ? 1 : 0;
  const std::int64_t minus_even = std::int64_t{-2} << shift;  // negative, the bit at `shift` is 0
  panel.negative[c] =
      static_cast<std::int32_t>(rounding_addend(minus_even, shift, mode) - floor_of_even);
}

}  // namespace

PackedWeights pack_weights(const Conv2d& conv, const Value& input, const Value& output) {
  const Requantization& rq = conv.requantization;
  PackedWeights packed;
  packed.channels = output.shape.channels;
  const auto channels = static_cast<std::size_t>(packed.channels);
  packed.depth = conv.weights.bytes.size() / channels;
  packed.quads = (packed.depth + kQuad - 1) / kQuad;
  const std::size_t panel_bytes = packed.quads * kPanelChannels * kQuad;
  const std::size_t panels = (channels + kPanelChannels - 1) / kPanelChannels;
  packed.panels.resize(panels * panel_bytes);
  packed.initial.resize(panels);
  packed.rounding.resize(panels);

  const std::int8_t* rows = conv.weights.as<std::int8_t>().data();
  const auto bias = conv.bias.as<std::int32_t>();
  packed.narrow = true;
  for (std::size_t co = 0; co < channels; ++co) {
    const ChannelSums sums = sum_weights(rows + co * packed.depth, packed.depth);
    const int shift = rq.shift(static_cast<std::int64_t>(co));
    packed.narrow &= psums_stay_narrow(sums, bias[co], shift);
    packed.initial[co / kPanelChannels].values[co % kPanelChannels] =
        wrapping_mul(-unsigned_zero_point(input), static_cast<std::int32_t>(sums.sum));
    set_rounding(packed.rounding[co / kPanelChannels], co % kPanelChannels, shift, rq.rounding);
  }
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const std::size_t first = panel * kPanelChannels;
    const std::size_t count = std::min<std::size_t>(kPanelChannels, channels - first);
    pack_panel(rows + first * packed.depth, count, packed.depth, packed.quads,
               packed.panels.data() + panel * panel_bytes);
    if (!packed.narrow) continue;
    for (std::size_t c = 0; c < count; ++c) {
      std::int32_t& initial = packed.initial[panel].values[c];
      initial = wrapping_add(initial, bias[first + c]);
    }
  }
  return packed;
}

}  // namespace qsim::golden
