#include "compiler/lowering/mapping_timings.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace qsim {
namespace {

constexpr std::int64_t kTold = 256;  // timings from one call of on_progress to the next

}  // namespace

MappingTimings::MappingTimings(const PlannedLayer& planned, const ArchConfig& arch,
                               const MapperOptions& options)
    : planned_(planned),
      arch_(arch),
      options_(options),
      amount_(planned, arch, options),
      fewest_cycles_(std::numeric_limits<std::int64_t>::max() / 2) {}

const MappingTimings::Timed* MappingTimings::time(const Mapping& mapping, const MappingSums& sums,
                                                  std::int64_t most_cycles) {
  if (find_fault(planned_.geometry, mapping, arch_)) return nullptr;
  if (++timings_ % kTold == 0 && options_.on_progress) options_.on_progress(timings_);
  const std::optional<LayerCost> cost =
      cost_within(planned_, mapping, arch_, sums.work, most_cycles, commands_);
  if (!cost) return nullptr;
  const auto bytes = static_cast<std::int64_t>(cost->read_bytes() + cost->write_bytes);
  QSIM_CHECK(
      bytes == sums.bytes.all() && static_cast<std::int64_t>(cost->commands) == sums.counts.all(),
      planned_.layer->name +
          ": a mapping's bytes and commands are not as its sums say: " + mapping_text(mapping));
  add(mapping, *cost);
  return &timed_.back();
}

void MappingTimings::add(const Mapping& mapping, const LayerCost& cost) {
  const auto cycles = static_cast<std::int64_t>(cost.cycles);
  timed_.push_back({mapping, cost, {cycles, amount_.exact(mapping, cost)}});
  fewest_cycles_ = std::min(fewest_cycles_, cycles);
}

bool MappingTimings::is_over() const {
  if (options_.budget_seconds <= 0 || timed_.empty()) return false;
  return std::chrono::duration<double>(Clock::now() - begin_).count() > options_.budget_seconds;
}

double MappingTimings::best_value() const {
  const std::int64_t most = most_cycles(fewest_cycles_, options_);
  double best = std::numeric_limits<double>::infinity();
  for (const Timed& t : timed_) {
    if (t.score.cycles <= most) best = std::min(best, value_of(t.score, options_.objective));
  }
  return best;
}

std::optional<MappedLayer> MappingTimings::best() const {
  if (timed_.empty()) return std::nullopt;
  std::vector<Score> scores;
  for (const Timed& t : timed_) scores.push_back(t.score);
  const Timed& best = timed_[best_of(scores, fewest_cycles_, options_)];
  MappedLayer mapped;
  mapped.mapping = best.mapping;
  mapped.cost = best.cost;
  mapped.amount = best.score.amount;
  mapped.fewest_cycles = fewest_cycles_;
  mapped.timed = timings_;
  return mapped;
}

}  // namespace qsim
