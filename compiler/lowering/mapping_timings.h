// The mappings of a layer that a search has timed: their exact costs, and the best of them.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "compiler/lowering/mapping_bounds.h"
#include "compiler/lowering/objective.h"

namespace qsim {

class MappingTimings {
 public:
  // All must outlive it.
  MappingTimings(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options);

  struct Timed {
    Mapping mapping;
    LayerCost cost;
    Score score;
  };
  // The mapping's cost; null when it takes more than `most_cycles`, and when it is not valid: a few
  // mappings of the space exceed what a command can count. `sums` are the mapping's. The pointer is
  // valid until the next call.
  const Timed* time(const Mapping& mapping, const MappingSums& sums, std::int64_t most_cycles);

  // A valid mapping with its cost, timed elsewhere.
  void add(const Mapping& mapping, const LayerCost& cost);

  // Whether the options' budget is used up. Never before a mapping is timed.
  bool is_over() const;

  bool empty() const { return timed_.empty(); }
  std::int64_t fewest_cycles() const { return fewest_cycles_; }  // far beyond any before the first
  std::int64_t commands() const { return commands_; }            // that were timed
  // The least value of those that are allowed: for Objective::kCycles, within the slack.
  double best_value() const;
  // The best, with `candidates` and `is_complete` still to be filled in; nothing when none is
  // timed.
  std::optional<MappedLayer> best() const;

 private:
  using Clock = std::chrono::steady_clock;

  const PlannedLayer& planned_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  ObjectiveAmount amount_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Timed> timed_;
  std::int64_t timings_ = 0;  // those that were stopped, too
  std::int64_t commands_ = 0;
  std::int64_t fewest_cycles_;
};

}  // namespace qsim
