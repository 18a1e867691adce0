// The mapper against timing every mapping of the space: random layers on random small machines,
// with each objective in turn.
#pragma once

#include <limits>

#include <gtest/gtest.h>

#include "compiler/lowering/mapper.h"
#include "compiler/lowering/mapping_space.h"
#include "compiler/lowering/schedule.h"
#include "core/machine/energy.h"
#include "tests/compiler/random_network.h"

namespace qsim::testing {

inline constexpr compiler::Objective kObjectives[] = {
    compiler::Objective::kCycles, compiler::Objective::kBytes, compiler::Objective::kEnergy,
    compiler::Objective::kEdp};

inline compiler::MapperOptions random_options(Random& random, compiler::Objective objective) {
  compiler::MapperOptions options;
  options.objective = objective;
  options.dataflow = static_cast<Dataflow>(random.uniform(0, 2));
  const double slacks[] = {0, 0.0005, 0.02};
  options.slack = slacks[random.uniform(0, 2)];
  options.energy = std::make_shared<const EnergyTable>(random_energy_table(random));
  return options;
}

// Adds up the energy of a layer's commands.
class EnergySink final : public compiler::CommandSink {
 public:
  explicit EnergySink(const ArchConfig& arch) : arch_(arch) {}
  void add(const Load& load, const compiler::Tokens&, const compiler::CommandPlace&) override {
    take(load);
  }
  void add(const Execute& execute, const compiler::Tokens&,
           const compiler::CommandPlace&) override {
    take(execute);
  }
  void add(const Post& post, const compiler::Tokens&, const compiler::CommandPlace&) override {
    take(post);
  }
  void add(const Store& store, const compiler::Tokens&, const compiler::CommandPlace&) override {
    take(store);
  }
  const EnergyEvents& events() const { return events_; }

 private:
  template <typename Fields>
  void take(const Fields& fields) {
    events_ += events_of(fields, arch_);
  }
  const ArchConfig& arch_;
  EnergyEvents events_;
};

struct Costed {
  double value = 0;
  std::int64_t cycles = 0;
  std::int64_t commands = 0;
  auto operator<=>(const Costed&) const = default;
};

// A mapping's cost from its commands alone, in the objective's own words.
inline Costed cost_by_commands(const compiler::PlannedLayer& layer, const Mapping& mapping,
                               const ArchConfig& arch, const compiler::MapperOptions& options) {
  const compiler::LayerCost cost = compiler::cost_of(layer, mapping, arch);
  Costed costed{0, static_cast<std::int64_t>(cost.cycles)};
  costed.commands = static_cast<std::int64_t>(cost.commands);
  if (options.objective == compiler::Objective::kCycles ||
      options.objective == compiler::Objective::kBytes) {
    const std::uint64_t a_command = options.objective == compiler::Objective::kCycles ? 32 : 0;
    costed.value =
        static_cast<double>(cost.read_bytes() + cost.write_bytes + a_command * cost.commands);
    return costed;
  }
  EnergySink sink(arch);
  compiler::Schedule(layer, mapping, arch, {}, sink).run();
  costed.value = total_energy(sink.events(), *options.energy, arch);
  if (options.objective == compiler::Objective::kEdp)
    costed.value *= static_cast<double>(costed.cycles);
  return costed;
}

inline std::vector<Costed> all_costs(const compiler::PlannedLayer& layer, const ArchConfig& arch,
                                     const compiler::MapperOptions& options) {
  std::vector<Costed> costs;
  for (const std::int64_t rows : compiler::equal_cuts(layer.geometry.out_rows)) {
    for (const std::int64_t cols : compiler::equal_cuts(layer.geometry.out_cols)) {
      compiler::for_each_chunking(
          layer.geometry, arch, options, rows, cols, [&](const compiler::Chunking& chunking) {
            for (const Mapping& mapping : compiler::mappings_of(chunking, options.search)) {
              if (compiler::find_fault(layer.geometry, mapping, arch)) continue;
              costs.push_back(cost_by_commands(layer, mapping, arch, options));
            }
          });
    }
  }
  return costs;
}

inline Costed best_of_all(const std::vector<Costed>& costs,
                          const compiler::MapperOptions& options) {
  std::int64_t fewest = costs.front().cycles;
  for (const Costed& c : costs) fewest = std::min(fewest, c.cycles);
  const double most = static_cast<double>(fewest) * (1 + options.slack);
  Costed best{std::numeric_limits<double>::infinity()};
  for (const Costed& c : costs) {
    if (options.objective == compiler::Objective::kCycles && static_cast<double>(c.cycles) > most)
      continue;
    best = std::min(best, c);
  }
  return best;
}

// Compares the full search's choice with the best of all mappings, for seeds from `first` to
// `last`.
inline void expect_best_of_all(std::uint64_t first, std::uint64_t last) {
  std::int64_t brute = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = random_machine(random);
    const PlannedNetwork network(
        random_network(seed, random, 1, seed % 8 < 4 ? 2 : 3, 10, arch.is_dyadic()), arch);
    const compiler::PlannedLayer& layer = network.layers().front();
    compiler::MapperOptions options = random_options(random, kObjectives[seed % 4]);
    options.search = compiler::MappingSearch::kFull;
    const compiler::MappedLayer mapped = compiler::map_layer(layer, arch, options);
    const std::vector<Costed> costs = all_costs(layer, arch, options);
    const Costed found = cost_by_commands(layer, mapped.mapping, arch, options);
    const Costed best = best_of_all(costs, options);
    EXPECT_EQ(found.value, best.value);
    EXPECT_EQ(found.cycles, best.cycles);
    EXPECT_EQ(found.commands, best.commands);
    EXPECT_TRUE(mapped.is_complete);
    brute += std::ssize(costs);
  }
  ::testing::Test::RecordProperty("brute_force", std::to_string(brute));
}

}  // namespace qsim::testing
