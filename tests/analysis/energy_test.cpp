// report/analysis/energy.h: each part by hand, the SRAM rule against its points, and the shipped
// tables.
#include "report/analysis/energy.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "formats/settings/energy_table_file.h"

namespace qsim {

using namespace formats;
using namespace report;
namespace {

EnergyTable table_of_one_size() {
  return {.name = "one size",
          .unit = "pJ",
          .mac = 0.5,
          .add = 0.25,
          .hop = 0.125,
          .sram = {{8, 64, 32}},  // 2 for each bit
          .dram = 16,
          .operations = {}};
}

double part(const Energy& energy, EnergyPart p) {
  return energy.parts[static_cast<std::size_t>(p)].value();
}

TEST(Energy, IsEachCountTimesItsNumber) {
  EnergyEvents events;
  events.useful_macs = 6;
  events.pe_macs = 8;
  events.activation_hop_bits = 16;
  events.psum_hop_bits = 32;
  events.weight_hop_bits = 8;
  events.adds = 12;
  events.activation = {1, 2, 3, 4};
  events.weight = {0, 0, 5, 6};
  events.accumulator = {0, 0, 7, 8};
  events.output = {0, 0, 9, 10};
  events.parameter = {0, 0, 11, 12};
  events.dram_read_bits = 3;
  events.dram_write_bits = 5;
  const EnergyTable table = table_of_one_size();
  const ArchConfig arch;
  const Energy e = energy(events, table, arch);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kMacs), 4);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kHops), 7);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kAdds), 3);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kActivation), 14);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kWeight), 22);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kAccumulator), 30);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kOutput), 38);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kParameter), 46);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kDramRead), 48);
  EXPECT_DOUBLE_EQ(part(e, EnergyPart::kDramWrite), 80);
  EXPECT_DOUBLE_EQ(e.total(), 292);
  EXPECT_DOUBLE_EQ(total_energy(events, table, arch), 292);
  EXPECT_DOUBLE_EQ(tops_per_watt(events, e, table).value(), 12.0 / 292);
}

TEST(Energy, HasNoPartThatTheTableHasNoNumberFor) {
  EnergyEvents events;
  events.pe_macs = events.adds = events.psum_hop_bits = 4;
  EnergyTable table = table_of_one_size();
  table.add.reset();
  table.hop.reset();
  table.unit = "MAC of 16 bits";
  const Energy e = energy(events, table, ArchConfig());
  EXPECT_FALSE(e.parts[static_cast<std::size_t>(EnergyPart::kAdds)].has_value());
  EXPECT_FALSE(e.parts[static_cast<std::size_t>(EnergyPart::kHops)].has_value());
  EXPECT_DOUBLE_EQ(e.total(), 2);
  EXPECT_FALSE(tops_per_watt(events, e, table).has_value());
}

TEST(Energy, OfAnAccessGrowsWithTheSizeOfItsMemory) {
  EnergyTable table = table_of_one_size();
  table.sram = {{1, 8, 8}, {4, 16, 8}};  // 1 for each bit at 1 KiB, by the square root
  EnergyEvents events;
  events.activation.read_bits = events.weight.read_bits = events.accumulator.write_bits =
      events.output.read_bits = events.parameter.read_bits = 1;
  ArchConfig arch;
  arch.act_scratchpad_kib = 16;
  arch.weight_scratchpad_kib = 64;
  arch.accumulator_kib = 8;  // two halves
  arch.output_scratchpad_kib = 9;
  arch.array_cols = 1024;  // two slots of 5 KiB
  const Energy e = energy(events, table, arch);
  EXPECT_NEAR(part(e, EnergyPart::kActivation), 4, 1e-9);
  EXPECT_NEAR(part(e, EnergyPart::kWeight), 8, 1e-9);
  EXPECT_NEAR(part(e, EnergyPart::kAccumulator), 2, 1e-9);
  EXPECT_NEAR(part(e, EnergyPart::kOutput), 3, 1e-9);
  EXPECT_NEAR(part(e, EnergyPart::kParameter) * part(e, EnergyPart::kParameter), 10, 1e-9);
}

TEST(Energy, SramRuleFindsAPowerLawAgain) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const SramRule rule = {0.1 * static_cast<double>(random.uniform(1, 50)),
                           0.01 * static_cast<double>(random.uniform(0, 100))};
    std::vector<SramPoint> points;
    for (const double kib : {0.5, 2.0, 8.0, 100.0}) {
      points.push_back({kib, 64 * rule.per_bit(kib), 64});
    }
    EXPECT_NEAR(sram_rule(points).scale, rule.scale, 1e-9);
    EXPECT_NEAR(sram_rule(points).exponent, rule.exponent, 1e-9);
  }
}

TEST(Energy, SramRuleOfTheShippedTablesIsWithinThreePercentOfEachPoint) {
  for (const char* name : {"horowitz-45nm", "eyeriss-65nm"}) {
    const EnergyTable table = load_energy_table("configs/energy/" + std::string(name) + ".yaml");
    const SramRule rule = sram_rule(table.sram);
    for (const SramPoint& point : table.sram) {
      EXPECT_NEAR(rule.per_bit(point.kib) * point.bits, point.energy, 0.03 * point.energy)
          << name << " " << point.kib;
    }
  }
}

}  // namespace
}  // namespace qsim
