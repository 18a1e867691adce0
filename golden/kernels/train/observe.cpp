// What an observer sees of a tensor, and the scale that follows.
#include <vector>

#include "golden/kernels/train/level_arithmetic.h"
#include "golden/kernels/train/level_spans.h"
#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

constexpr std::int64_t kObservedSpan = 4096;

// The range of the finite elements.
FiniteRange range_of(const RealTensor& x, ThreadTeam& team) {
  std::vector<FiniteRange> parts(static_cast<std::size_t>(ceil_div(x.elems(), kObservedSpan)));
  for_ranges(team, std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(kObservedSpan);
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * kObservedSpan;
      const std::int64_t count = std::min(kObservedSpan, x.elems() - first);
      load_span(x, first, count, values.data());
      parts[static_cast<std::size_t>(part)] = range_of_span(values.data(), count);
    }
  });
  FiniteRange whole;
  for (const FiniteRange& part : parts) whole.include(part);
  return whole;
}

void remember(const Observe& call, const FiniteRange& seen) {
  const FiniteRange range = {seen.least + 0.0F, seen.most + 0.0F};  // a zero is +0
  float* state = call.state;
  const bool first = state[2] == 0;
  state[2] = state[2] + 1;
  if (first || call.observer == Observer::kLast) {
    state[0] = range.least;
    state[1] = range.most;
  } else if (call.observer == Observer::kAll) {
    state[0] = std::min(state[0], range.least);
    state[1] = std::max(state[1], range.most);
  } else {
    state[0] = state[0] + call.momentum * (range.least - state[0]);
    state[1] = state[1] + call.momentum * (range.most - state[1]);
  }
}

void write_scale(const Observe& call) {
  const Levels& levels = call.levels;
  if (levels.scale_kind == ScaleKind::kGiven) return;
  if (levels.scale_kind == ScaleKind::kAffine) {
    const AffineScale made = affine_scale(call.state[0], call.state[1], levels.lo, levels.hi);
    *call.scale = made.scale;
    *call.zero_point = made.zero_point;
    return;
  }
  const float most = std::max(std::fabs(call.state[0]), std::fabs(call.state[1]));
  *call.scale = symmetric_scale(most, levels.hi, levels.scale_kind == ScaleKind::kPowerOfTwo);
  if (call.zero_point != nullptr) *call.zero_point = 0;
}

}  // namespace

void compute(const Observe& call, ThreadTeam& team) {
  const FiniteRange range = call.x.data == nullptr ? FiniteRange() : range_of(call.x, team);
  team.run(1, [&](std::size_t) {  // in golden's float environment
    if (!range.is_empty()) remember(call, range);
    write_scale(call);
    if (call.scale_copy != nullptr) *call.scale_copy = *call.scale;
    if (call.zero_point_copy != nullptr) *call.zero_point_copy = *call.zero_point;
  });
}

}  // namespace qsim::golden::train
