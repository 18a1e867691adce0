// The events of a layer in closed form against those of its commands, one by one.
#include "compiler/lowering/layer_events.h"

#include <gtest/gtest.h>

#include "compiler/lowering/schedule.h"
#include "tests/compiler/random_mapping.h"
#include "tests/compiler/random_network.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::PlannedNetwork;

// Adds up the events and bytes of a layer's commands.
class EventSink final : public CommandSink {
 public:
  explicit EventSink(const ArchConfig& arch) : arch_(arch) {}
  void add(const Load& load, const Tokens&, const CommandPlace&) override {
    const std::int64_t bytes = std::int64_t{load.groups} * load.runs * load.run_bytes;
    switch (static_cast<LoadMemory>(load.memory)) {
      case LoadMemory::kActivation:
        bytes_.acts += bytes;
        break;
      case LoadMemory::kWeight:
        bytes_.weights += bytes;
        break;
      case LoadMemory::kParameter:
      case LoadMemory::kTable:
        bytes_.params += bytes;
        break;
    }
    events_ += events_of(load, arch_);
  }
  void add(const Execute& execute, const Tokens&, const CommandPlace&) override {
    events_ += events_of(execute, arch_);
  }
  void add(const Post& post, const Tokens&, const CommandPlace&) override {
    events_ += events_of(post, arch_);
  }
  void add(const Store& store, const Tokens&, const CommandPlace&) override {
    bytes_.writes += std::int64_t{store.groups} * store.runs * store.run_bytes;
    events_ += events_of(store, arch_);
  }
  const EnergyEvents& events() const { return events_; }
  const LayerBytes& bytes() const { return bytes_; }

 private:
  const ArchConfig& arch_;
  EnergyEvents events_;
  LayerBytes bytes_;
};

// Every count, with its name.
std::vector<std::pair<std::string, std::uint64_t>> counts(const EnergyEvents& e) {
  std::vector<std::pair<std::string, std::uint64_t>> all = {
      {"useful_macs", e.useful_macs},
      {"pe_macs", e.pe_macs},
      {"activation_hop_bits", e.activation_hop_bits},
      {"psum_hop_bits", e.psum_hop_bits},
      {"weight_hop_bits", e.weight_hop_bits},
      {"adds", e.adds},
      {"dram_read_bits", e.dram_read_bits},
      {"dram_write_bits", e.dram_write_bits}};
  const auto add = [&](const std::string& name, const MemoryEvents& memory) {
    all.emplace_back(name + " reads", memory.reads);
    all.emplace_back(name + " writes", memory.writes);
    all.emplace_back(name + " read_bits", memory.read_bits);
    all.emplace_back(name + " write_bits", memory.write_bits);
  };
  add("activation", e.activation);
  add("weight", e.weight);
  add("accumulator", e.accumulator);
  add("output", e.output);
  add("parameter", e.parameter);
  return all;
}

struct Compared {
  std::int64_t mappings = 0;
  std::array<std::int64_t, kDataflows> of_dataflow{};
  std::int64_t split_first = 0;  // whose first weight chunk is smaller
};

void compare(const PlannedLayer& layer, const Mapping& mapping, const ArchConfig& arch,
             Compared& compared) {
  SCOPED_TRACE(mapping_text(mapping));
  EventSink sink(arch);
  Schedule(layer, mapping, arch, {}, sink).run();
  EnergyEvents expected = sink.events();
  expected.useful_macs = static_cast<std::uint64_t>(layer.layer->macs);
  const LayerEvents events(layer, arch);
  const EnergyEvents exact = events.exact(mapping, sink.bytes());
  const EnergyEvents least =
      events.least(mapping, cut_axis(layer.geometry, Axis::kRows, mapping.tile_rows),
                   cut_axis(layer.geometry, Axis::kCols, mapping.tile_cols), sink.bytes());
  const auto of_commands = counts(expected);
  const auto of_sums = counts(exact);
  const auto of_bound = counts(least);
  const bool is_linear = mapping.dataflow != Dataflow::kOutputStationary;
  for (std::size_t i = 0; i < of_commands.size(); ++i) {
    EXPECT_EQ(of_sums[i].second, of_commands[i].second) << of_commands[i].first;
    if (is_linear) {
      EXPECT_EQ(of_bound[i].second, of_commands[i].second) << of_commands[i].first;
    } else {
      EXPECT_LE(of_bound[i].second, of_commands[i].second) << of_commands[i].first;
    }
  }
  ++compared.mappings;
  ++compared.of_dataflow[static_cast<std::size_t>(mapping.dataflow)];
  if (mapping.first_weight_folds < mapping.weight_folds) ++compared.split_first;
}

TEST(LayerEvents, InClosedFormAreThoseOfTheCommands) {
  Compared compared;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const PlannedNetwork network(testing::random_network(seed, random, 2, 14, 40, arch.is_dyadic()),
                                 arch);
    for (const PlannedLayer& layer : network.layers()) {
      for (int draw = 0; draw < 5; ++draw) {
        const Mapping mapping =
            testing::random_mapping(layer.geometry, arch, layer.mapping, random);
        compare(layer, mapping, arch, compared);
      }
    }
  }
  EXPECT_GT(compared.mappings, 3500);
  EXPECT_GT(compared.split_first, 300);
  for (const std::int64_t mappings : compared.of_dataflow) EXPECT_GT(mappings, 600);
}

}  // namespace
}  // namespace qsim
