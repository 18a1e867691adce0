// What becomes of the sums of a convolution: real numbers, or levels.
#include <cmath>
#include <limits>
#include <vector>

#include "golden/kernels/train/conv_sums.h"
#include "golden/kernels/train/level_arithmetic.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

void write_reals(const ConvReal& call, std::int64_t first, std::int64_t count,
                 const std::int32_t* acc, std::vector<float>& values) {
  const std::int64_t outs = call.conv.y_shape.channels;
  BitWriter bits(call.passes, first * outs);
  for (std::int64_t i = 0; i < count * outs; ++i) {
    const std::int64_t o = i % outs;
    const float factor = *call.scale * call.w_scales[o];
    float value = static_cast<float>(acc[i]) * factor;
    if (call.bias != nullptr) value = value + call.bias[o];
    bits.put(!call.relu || value > 0);
    values[static_cast<std::size_t>(i)] = !call.relu || value > 0 ? value : 0.0F;
  }
  store_span(call.y, first * outs, count * outs, values.data());
}

struct Range {
  float least = 0;
  float most = 0;

  void include(float value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

void write_levels(const ConvLevels& call, std::int64_t first, std::int64_t count,
                  const std::int32_t* acc, Range& range) {
  const std::int64_t outs = call.conv.y_shape.channels;
  const std::int32_t zero_point = call.y_zero_point == nullptr ? 0 : *call.y_zero_point;
  BitWriter bits(call.passes, first * outs);
  for (std::int64_t i = 0; i < count * outs; ++i) {
    const std::int64_t o = i % outs;
    const std::uint32_t bias = call.bias == nullptr ? 0 : static_cast<std::uint32_t>(call.bias[o]);
    const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc[i]) + bias);
    float t = static_cast<float>(sum) * call.multipliers[o];
    const bool is_cut = call.relu && t <= 0;
    if (is_cut) t = 0;
    range.include(t);
    const Level level = clamp_level(rintf(t), zero_point, call.lo, call.hi);
    call.y[first * outs + i] = level.q;
    bits.put(level.passes && !is_cut);
  }
}

}  // namespace

void compute(const ConvReal& call, ThreadTeam& team) {
  const ConvSums sums(call.conv, team);
  for_ranges(team, call.conv.pixels(), ConvSums::kBlock, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(
        static_cast<std::size_t>(ConvSums::kBlock * call.conv.y_shape.channels));
    sums.each_block(begin, end, [&](std::int64_t first, std::int64_t count, const auto* acc) {
      write_reals(call, first, count, acc, values);
    });
  });
}

void compute(const ConvLevels& call, ThreadTeam& team) {
  const ConvSums sums(call.conv, team);
  const std::int64_t blocks = ceil_div(call.conv.pixels(), ConvSums::kBlock);
  std::vector<Range> ranges(static_cast<std::size_t>(blocks));
  for_ranges(team, call.conv.pixels(), ConvSums::kBlock, [&](std::int64_t begin, std::int64_t end) {
    sums.each_block(begin, end, [&](std::int64_t first, std::int64_t count, const auto* acc) {
      write_levels(call, first, count, acc,
                   ranges[static_cast<std::size_t>(first / ConvSums::kBlock)]);
    });
  });
  if (call.range == nullptr) return;
  Range whole;
  for (const Range& range : ranges) {
    whole.include(range.least);
    whole.include(range.most);
  }
  team.run(1, [&](std::size_t) {  // in golden's float environment; a zero is +0
    call.range[0] = whole.least + 0.0F;
    call.range[1] = whole.most + 0.0F;
  });
}

}  // namespace qsim::golden::train
