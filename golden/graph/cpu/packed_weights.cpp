#include "golden/graph/cpu/packed_weights.h"

#include <algorithm>
#include <cstring>

#include "core/base/checked_math.h"
#include "golden/common/channel_sums.h"
#include "golden/graph/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

// Panels are written in slices of this many quads (8 KiB), which stay in the first-level cache
// while the rows of 32 channels pass.
constexpr std::size_t kReadQuads = 64;

void pack_panel(const std::int8_t* rows, std::size_t row_count, std::size_t depth,
                std::size_t quads, std::int8_t* panel) {
  const std::size_t whole_quads = depth / kQuad;
  for (std::size_t slice = 0; slice < quads; slice += kReadQuads) {
    const std::size_t end = std::min(slice + kReadQuads, whole_quads);
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

// Whether one channel's psums allow the rule of vector kernels.
bool is_narrow(const ChannelSums& sums, std::int32_t bias, const Requantization& rq,
               std::int64_t channel) {
  if (!rq.is_dyadic()) return psums_stay_narrow(sums, bias, rq.shift(channel));
  // Float32 and TensorFlow Lite's roundings take any int32; the others need the exact product in a
  // double.
  return rq.requantizer(channel).rounding >= RequantizerRounding::kFloat32
             ? psums_stay_narrow(sums, bias, 0)
             : products_stay_exact(sums, bias);
}

// The part of `weight` that fits eight bits.
std::int8_t part_of(int weight) { return static_cast<std::int8_t>(std::clamp(weight, -128, 127)); }

std::size_t count_parts(const Tensor& weights) {
  const auto all = weights.as<std::int16_t>();
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  const auto parts = [](int weight) {
    std::size_t count = 1;
    for (; weight != part_of(weight); weight -= part_of(weight)) ++count;
    return count;
  };
  return all.empty() ? 1 : std::max(parts(*low), parts(*high));
}

}  // namespace

WeightParts weight_parts(const Tensor& weights) {
  WeightParts result{};
  const auto channels = static_cast<std::size_t>(weights.shape[0]);
  result.depth = static_cast<std::size_t>(weights.elems()) / channels;
  if (weights.dtype == DType::kInt8) {
    result.rows = weights.as<std::int8_t>().data();
    return result;
  }
  const auto all = weights.as<std::int16_t>();
  result.parts = count_parts(weights);
  const std::size_t depth = result.depth;
  result.copy.resize(all.size() * result.parts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int8_t* out = result.copy.data() + i / depth * depth * result.parts + i % depth;
    int rest = all[i];
    for (std::size_t part = 0; part < result.parts; ++part, out += depth) {
      *out = part_of(rest);
      rest -= *out;
    }
  }
  result.rows = result.copy.data();
  return result;
}

PackedWeights pack_weights(const WeightParts& weights, const Tensor& bias, const Requantization& rq,
                           std::int32_t zero_point, const ChannelRange& range) {
  PackedWeights packed;
  packed.channels = range.count;
  packed.parts = weights.parts;
  packed.depth = weights.depth * weights.parts;
  packed.quads = (packed.depth + kQuad - 1) / kQuad;
  const auto channels = static_cast<std::size_t>(range.count);
  const std::size_t panel_bytes = packed.quads * kPanelChannels * kQuad;
  const std::size_t panels = (channels + kPanelChannels - 1) / kPanelChannels;
  packed.panels.resize(panels * panel_bytes);
  packed.initial.resize(panels);
  (rq.is_dyadic() ? packed.scales.resize(panels) : packed.shifts.resize(panels));

  const std::int8_t* rows = weights.rows + static_cast<std::size_t>(range.first) * packed.depth;
  const std::int32_t* biases = bias.as<std::int32_t>().data() + range.first;
  bool narrow = true;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto channel = range.first + static_cast<std::int64_t>(c);
    const std::size_t panel = c / kPanelChannels;
    const std::size_t lane = c % kPanelChannels;
    const ChannelSums sums = sum_weights(rows + c * packed.depth, packed.depth);
    narrow &= is_narrow(sums, biases[c], rq, channel);
    packed.initial[panel].values[lane] =
        wrapping_mul(-zero_point, static_cast<std::int32_t>(sums.sum));
    if (rq.is_dyadic()) {
      packed.scales[panel].set(lane, rq.requantizer(channel));
    } else {
      set_rounding(packed.shifts[panel], lane, rq.shift(channel), rq.rounding);
    }
  }
  if (narrow) packed.rule = rq.is_dyadic() ? OutputRule::kScales : OutputRule::kShifts;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const std::size_t first = panel * kPanelChannels;
    const std::size_t count = std::min<std::size_t>(kPanelChannels, channels - first);
    pack_panel(rows + first * packed.depth, count, packed.depth, packed.quads,
               packed.panels.data() + panel * panel_bytes);
    if (!narrow) continue;
    for (std::size_t c = 0; c < count; ++c) {
      std::int32_t& initial = packed.initial[panel].values[c];
      initial = wrapping_add(initial, biases[first + c]);
    }
  }
  return packed;
}

}  // namespace qsim::golden
