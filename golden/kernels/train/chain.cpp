// A chain's arithmetic beside its convolutions.
#include <algorithm>

#include "golden/kernels/train/chain_arithmetic.h"
#include "golden/kernels/train/parts.h"

namespace qsim::golden::train {
namespace {

// Work for one thread, in golden's float environment.
template <typename Work>
void in_environment(ThreadTeam& team, const Work& work) {
  team.run(1, [&](std::size_t) { work(); });
}

}  // namespace

void compute(const SpreadScales& call, ThreadTeam& /*team*/) {
  for (std::int64_t o = 0; o < call.count; ++o) {
    call.to[o] = call.from[call.from_count == 1 ? 0 : o];
  }
}

void compute(const NormalizeStatistics& call, ThreadTeam& team) {
  const std::int64_t batches = *call.batches + 1;
  in_environment(team, [&] {
    for (std::int64_t o = 0; o < call.channels; ++o) normalize_channel(call, o, batches);
  });
  if (call.sums != nullptr) *call.batches = batches;
}

void compute(const FoldLevels& call, ThreadTeam& team) {
  for_ranges(team, call.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      const bool reads = fold_channel(call, o);
      if (call.w_used == nullptr) continue;
      std::int8_t* to = call.w_used + o * call.weights;
      if (reads) {
        std::copy_n(call.w + o * call.weights, call.weights, to);
      } else {
        std::fill_n(to, call.weights, std::int8_t{0});
      }
    }
  });
}

void compute(const TrialScale& call, ThreadTeam& team) {
  in_environment(team, [&] {
    double most = 0;
    for (std::int64_t o = 0; o < call.channels; ++o) {
      most = greater(unit_of_channel(call, o), most);
    }
    *call.trial = trial_of_unit(most);
  });
}

void compute(const MeasureScale& call, ThreadTeam& team) {
  in_environment(team, [&] { measure_scale(call); });
}

void compute(const ObserveRows& call, ThreadTeam& team) {
  in_environment(team, [&] {
    for (std::int64_t row = 0; row < call.rows; ++row) observe_row(call, row);
  });
}

void compute(const NormalizationGradient& call, ThreadTeam& team) {
  in_environment(team, [&] {
    for (std::int64_t o = 0; o < call.channels; ++o) differentiate_channel(call, o);
  });
}

}  // namespace qsim::golden::train
