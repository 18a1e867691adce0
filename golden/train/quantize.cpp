// Real numbers to levels.
#include <vector>

#include "golden/train/level_arithmetic.h"
#include "golden/train/parts.h"
#include "golden/train/real_spans.h"
#include "golden/train/train.h"

namespace qsim::golden::train {
namespace {

constexpr std::int64_t kSpan = 4096;  // a multiple of 8: spans begin at bytes of bits

// Where levels are written, one after the other.
struct LevelWriter {
  const Levels& levels;
  std::int8_t* q;
  BitWriter bits;
  std::int8_t* residual;  // or null

  void put(float value, float scale, std::int32_t zero_point) {
    const float quotient = value / scale;
    const float rounded = round_quotient(quotient, levels.rounding);
    const Level level = clamp_level(rounded, zero_point, levels.lo, levels.hi);
    *q++ = level.q;
    bits.put(level.passes);
    if (residual != nullptr) *residual++ = level.passes ? residual_of(quotient, rounded) : 0;
  }
};

float greatest_magnitude(const RealTensor& w, std::int64_t first, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  load_span(w, first, count, values.data());
  float most = 0;
  for (const float value : values) {
    if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  }
  return most;
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

// put(writer, element, value) for each element. `Call` has q, passes, residual and levels.
template <typename Call, typename Put>
void write_levels(const Call& call, const RealTensor& x, ThreadTeam& team, const Put& put) {
  for_ranges(team, x.elems(), kSpan, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(kSpan);
    LevelWriter writer{call.levels, call.q + begin, BitWriter(call.passes, begin),
                       call.residual == nullptr ? nullptr : call.residual + begin};
    for (std::int64_t first = begin; first < end; first += kSpan) {
      const std::int64_t count = std::min(kSpan, end - first);
      load_span(x, first, count, values.data());
      for (std::int64_t i = 0; i < count; ++i) {
        put(writer, first + i, values[static_cast<std::size_t>(i)]);
      }
    }
  });
}

}  // namespace

void compute(const QuantizeLevels& call, ThreadTeam& team) {
  const std::int32_t zero_point = call.zero_point == nullptr ? 0 : *call.zero_point;
  write_levels(call, call.x, team, [&](LevelWriter& writer, std::int64_t, float value) {
    writer.put(value, *call.scale, zero_point);
  });
}

void compute(const QuantizeWeights& call, ThreadTeam& team) {
  const std::int64_t weights_of_channel = call.w.shape[1] * call.w.shape[2] * call.w.shape[3];
  if (call.levels.scale_kind != ScaleKind::kGiven) write_scales(call, weights_of_channel, team);
  write_levels(call, call.w, team, [&](LevelWriter& writer, std::int64_t index, float value) {
    writer.put(value, call.scales[index / weights_of_channel], 0);
  });
}

}  // namespace qsim::golden::train
