#include "compiler/lowering/mapping_timings.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace qsim::compiler {
namespace {

constexpr std::int64_t kTold = 256;  // timings from one call of on_progress to the next

}  // namespace

MappingTimings::MappingTimings(const PlannedLayer& planned, const ArchConfig& arch,
                               const MapperOptions& options, std::int64_t least_cycles)
    : planned_(planned),
      arch_(arch),
      options_(options),
      amount_(planned, arch, options),
      least_cycles_(least_cycles),
      fewest_cycles_(std::numeric_limits<std::int64_t>::max() / 2) {}

void MappingTimings::add(const MappingTimings& other) {
  for (const Timed& timed : other.timed_) add(timed.mapping, timed.cost);
  timings_ += other.timings_;
}

std::optional<Score> MappingTimings::time(const Mapping& mapping, const MappingSums& sums,
                                          std::int64_t most_cycles) {
  if (find_fault(planned_.geometry, mapping, arch_)) return std::nullopt;
  if (++timings_ % kTold == 0 && options_.on_progress) options_.on_progress(timings_);
  const std::optional<LayerCost> cost =
      cost_within(planned_, mapping, arch_, sums.work, most_cycles, commands_);
  if (!cost || static_cast<std::int64_t>(cost->cycles) < least_cycles_) return std::nullopt;
  const auto bytes = static_cast<std::int64_t>(cost->read_bytes() + cost->write_bytes);
  QSIM_CHECK(
      bytes == sums.bytes.all() && static_cast<std::int64_t>(cost->commands) == sums.counts.all(),
      planned_.layer->name +
          ": a mapping's bytes and commands are not as its sums say: " + mapping_text(mapping));
  add(mapping, *cost);
  return timed_.back().score;
}

bool MappingTimings::take(const Mapping& mapping, const MappingSums& sums,
                          std::int64_t least_cycles) {
  if (find_fault(planned_.geometry, mapping, arch_)) return false;
  ++timings_;
  std::optional<LayerCost> cost =
      cost_within(planned_, mapping, arch_, sums.work, std::numeric_limits<std::int64_t>::max(),
                  commands_, options_.is_over);
  if (!cost) {
    has_ended_ = true;
    const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    cost = {number(least_cycles),      number(sums.bytes.acts),   number(sums.bytes.weights),
            number(sums.bytes.params), number(sums.bytes.writes), number(sums.counts.all())};
  }
  add(mapping, *cost);
  return true;
}

void MappingTimings::add(const Mapping& mapping, const LayerCost& cost) {
  const auto cycles = static_cast<std::int64_t>(cost.cycles);
  timed_.push_back(
      {mapping,
       cost,
       {cycles, amount_.exact(mapping, cost), static_cast<std::int64_t>(cost.commands)}});
  fewest_cycles_ = std::min(fewest_cycles_, cycles);
}

bool MappingTimings::is_over() {
  if (options_.ends_long_timings_alone) return false;
  if (!has_ended_ && options_.is_over && !timed_.empty()) has_ended_ = options_.is_over();
  return has_ended_;
}

std::size_t MappingTimings::best_index() const {
  std::vector<Score> scores;
  for (const Timed& timed : timed_) scores.push_back(timed.score);
  return best_of(scores, fewest_cycles_, options_);
}

Rank MappingTimings::best_rank() const {
  if (timed_.empty()) return {std::numeric_limits<double>::infinity(), 0, 0};
  return rank_of(timed_[best_index()].score, options_.objective);
}

MappedLayer MappingTimings::best() const {
  const Timed& best = timed_[best_index()];
  MappedLayer mapped;
  mapped.mapping = best.mapping;
  mapped.cost = best.cost;
  mapped.amount = best.score.amount;
  mapped.fewest_cycles = fewest_cycles_;
  mapped.timed = timings_;
  return mapped;
}

}  // namespace qsim::compiler
