// Real numbers to levels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "golden/kernels/train/level_arithmetic.h"
#include "golden/kernels/train/level_spans.h"
#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

constexpr std::int64_t kQuantizedSpan = 4096;  // a multiple of 8: spans begin at bytes of bits

float greatest_magnitude(const RealTensor& w, std::int64_t first, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  load_span(w, first, count, values.data());
  const FiniteRange range = range_of_span(values.data(), count);
  return range.is_empty() ? 0 : std::max(std::fabs(range.least), std::fabs(range.most));
}

void write_scales(const QuantizeWeights& call, std::int64_t weights_of_channel, ThreadTeam& team) {
  const bool power = call.levels.scale_kind == ScaleKind::kPowerOfTwo;
  for_ranges(team, call.w.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      const float most = greatest_magnitude(call.w, o * weights_of_channel, weights_of_channel);
      call.scales[o] = symmetric_scale(most, call.levels.hi, power);
    }
  });
}

// Writes the levels of x. scale_of(i) is the scale of `elems_of_scale` elements, the i-th such
// group. `Call` has q, passes, residual and levels.
template <typename Call, typename ScaleOf>
void write_levels(const Call& call, const RealTensor& x, ThreadTeam& team,
                  std::int64_t elems_of_scale, const ScaleOf& scale_of) {
  for_ranges(team, x.elems(), kQuantizedSpan, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(kQuantizedSpan);
    std::vector<std::uint8_t> passes(kQuantizedSpan);
    for (std::int64_t first = begin; first < end; first += kQuantizedSpan) {
      const std::int64_t last = std::min(first + kQuantizedSpan, end);
      load_span(x, first, last - first, values.data());
      std::fill(passes.begin(), passes.end(), std::uint8_t{0});
      for (std::int64_t at = first; at < last;) {
        const std::int64_t next = std::min(last, (at / elems_of_scale + 1) * elems_of_scale);
        levels_of_span(values.data() + (at - first), next - at, scale_of(at / elems_of_scale),
                       call.levels, call.q + at, passes.data() + (at - first),
                       call.residual == nullptr ? nullptr : call.residual + at);
        at = next;
      }
      if (call.passes != nullptr) pack_bits(passes.data(), last - first, call.passes + first / 8);
    }
  });
}

}  // namespace

void compute(const QuantizeLevels& call, ThreadTeam& team) {
  const SpanScale scale = {*call.scale, call.zero_point == nullptr ? 0 : *call.zero_point};
  write_levels(call, call.x, team, std::max<std::int64_t>(call.x.elems(), 1),
               [&](std::int64_t) { return scale; });
}

void compute(const QuantizeWeights& call, ThreadTeam& team) {
  const std::int64_t weights_of_channel = call.w.shape[1] * call.w.shape[2] * call.w.shape[3];
  if (call.levels.scale_kind != ScaleKind::kGiven) write_scales(call, weights_of_channel, team);
  write_levels(call, call.w, team, std::max<std::int64_t>(weights_of_channel, 1),
               [&](std::int64_t channel) {
                 return SpanScale{call.scales[channel], 0};
               });
}

}  // namespace qsim::golden::train
