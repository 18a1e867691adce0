// What an objective makes least, of a layer under a mapping: exact where it was timed, a lower
// bound where it was not. docs/reference/mapping.md#what-is-best defines the objectives.
#pragma once

#include <compare>
#include <span>

#include "compiler/lowering/layer_events.h"
#include "compiler/lowering/mapper_options.h"

namespace qsim::compiler {

// What a command counts for where a search by kCycles compares bytes: a mapping that saves a byte
// of DRAM with a command more saves nothing, because engines and test benches work on every
// command, too.
inline constexpr std::int64_t kCommandBytes = 32;

// Of a mapping, a layer or a network; they add up.
struct Score {
  std::int64_t cycles = 0;
  double amount = 0;  // bytes, or energy in the table's unit
  std::int64_t commands = 0;

  Score& operator+=(const Score& other) {
    cycles += other.cycles;
    amount += other.amount;
    commands += other.commands;
    return *this;
  }
};

// What the objective makes least; of kCycles among those within the slack of the fewest cycles.
double value_of(const Score& score, Objective objective);

// The order of the objective: the least value, of equal ones the fewest cycles, then the fewest
// commands.
struct Rank {
  double value = 0;
  std::int64_t cycles = 0;
  std::int64_t commands = 0;

  auto operator<=>(const Rank&) const = default;  // NOLINT(modernize-use-nullptr)
};

Rank rank_of(const Score& score, Objective objective);

// `cycles` and the slack of kCycles; no limit for another objective.
std::int64_t most_cycles(std::int64_t fewest_cycles, const MapperOptions& options);

// Which of the scores is best: the least rank of those within the slack of `fewest_cycles`. At
// least one is, for kCycles. Of equal ones the first.
std::size_t best_of(std::span<const Score> scores, std::int64_t fewest_cycles,
                    const MapperOptions& options);

class ObjectiveAmount {
 public:
  // All must outlive it; options.energy is there for an objective that needs it.
  ObjectiveAmount(const PlannedLayer& planned, const ArchConfig& arch,
                  const MapperOptions& options);

  // Of a valid mapping with this cost.
  double exact(const Mapping& mapping, const LayerCost& cost) const;
  // At most what exact() gives for the mapping, of its bytes and at most its number of commands.
  double least(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
               const LayerBytes& bytes, std::int64_t commands) const;

 private:
  bool takes_energy() const;
  double bytes_of(const LayerBytes& bytes, std::int64_t commands) const;

  const ArchConfig& arch_;
  const MapperOptions& options_;
  LayerEvents events_;
};

}  // namespace qsim::compiler
