// The mappings of a layer that a search has timed: their exact costs, and the best of them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/lowering/mapping_bounds.h"
#include "compiler/lowering/objective.h"

namespace qsim::compiler {

class MappingTimings {
 public:
  // All must outlive it. Mappings with fewer than `least_cycles` are not taken.
  MappingTimings(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options,
                 std::int64_t least_cycles = 0);

  // What another search of the layer has timed and taken.
  void add(const MappingTimings& other);

  // The mapping's score, if it is taken: not when it takes more than `most_cycles`, and not when it
  // is not valid, as a few mappings of the space exceed what a command can count. `sums` are the
  // mapping's.
  std::optional<Score> time(const Mapping& mapping, const MappingSums& sums,
                            std::int64_t most_cycles);

  // Takes the mapping, unless it is not valid; with its exact cost, or where options.is_over ends
  // its timing, with what its sums and `least_cycles`, a bound, say. Whether it is taken.
  bool take(const Mapping& mapping, const MappingSums& sums, std::int64_t least_cycles);

  // Whether the search ends here, as options.is_over says. Never before a mapping is taken.
  bool is_over();
  bool has_ended() const { return has_ended_; }  // is_over() said so

  bool is_empty() const { return timed_.empty(); }
  std::int64_t fewest_cycles() const { return fewest_cycles_; }  // far beyond any before the first
  std::int64_t commands() const { return commands_; }            // that were timed
  // Of the best one. Beyond all ranks when none is taken.
  Rank best_rank() const;
  // The best, with `candidates` and `is_complete` still to be filled in. There is one.
  MappedLayer best() const;

 private:
  struct Timed {
    Mapping mapping;
    LayerCost cost;
    Score score;
  };
  void add(const Mapping& mapping, const LayerCost& cost);
  std::size_t best_index() const;

  const PlannedLayer& planned_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  ObjectiveAmount amount_;
  std::vector<Timed> timed_;
  std::int64_t least_cycles_;
  std::int64_t timings_ = 0;  // those that were stopped, too
  std::int64_t commands_ = 0;
  std::int64_t fewest_cycles_;
  bool has_ended_ = false;
};

}  // namespace qsim::compiler
