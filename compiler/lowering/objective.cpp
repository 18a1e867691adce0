#include "compiler/lowering/objective.h"

#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/machine/energy.h"

namespace qsim::compiler {

double value_of(const Score& score, Objective objective) {
  if (objective != Objective::kEdp) return score.amount;
  return score.amount * static_cast<double>(score.cycles);
}

Rank rank_of(const Score& score, Objective objective) {
  return {value_of(score, objective), score.cycles, score.commands};
}

std::int64_t most_cycles(std::int64_t fewest_cycles, const MapperOptions& options) {
  if (options.objective != Objective::kCycles) return std::numeric_limits<std::int64_t>::max();
  return fewest_cycles +
         static_cast<std::int64_t>(static_cast<double>(fewest_cycles) * options.slack);
}

std::size_t best_of(std::span<const Score> scores, std::int64_t fewest_cycles,
                    const MapperOptions& options) {
  const std::int64_t most = most_cycles(fewest_cycles, options);
  const auto key = [&](const Score& score) {
    return std::pair(score.cycles > most, rank_of(score, options.objective));
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (key(scores[i]) < key(scores[best])) best = i;
  }
  return best;
}

ObjectiveAmount::ObjectiveAmount(const PlannedLayer& planned, const ArchConfig& arch,
                                 const MapperOptions& options)
    : arch_(arch), options_(options), events_(planned, arch) {
  QSIM_CHECK(!takes_energy() || options.energy != nullptr,
             "an objective of energy has no energy table");
}

bool ObjectiveAmount::takes_energy() const {
  return options_.objective == Objective::kEnergy || options_.objective == Objective::kEdp;
}

double ObjectiveAmount::exact(const Mapping& mapping, const LayerCost& cost) const {
  const LayerBytes bytes = {static_cast<std::int64_t>(cost.act_read_bytes),
                            static_cast<std::int64_t>(cost.weight_read_bytes),
                            static_cast<std::int64_t>(cost.param_read_bytes),
                            static_cast<std::int64_t>(cost.write_bytes)};
  if (takes_energy()) {
    return total_energy(events_.exact(mapping, bytes), *options_.energy, arch_);
  }
  return bytes_of(bytes, static_cast<std::int64_t>(cost.commands));
}

double ObjectiveAmount::least(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
                              const LayerBytes& bytes, std::int64_t commands) const {
  if (takes_energy()) {
    return total_energy(events_.least(mapping, rows, cols, bytes), *options_.energy, arch_);
  }
  return bytes_of(bytes, commands);
}

double ObjectiveAmount::bytes_of(const LayerBytes& bytes, std::int64_t commands) const {
  const bool with_commands = options_.objective == Objective::kCycles;
  return static_cast<double>(bytes.all() + (with_commands ? kCommandBytes * commands : 0));
}

}  // namespace qsim::compiler
