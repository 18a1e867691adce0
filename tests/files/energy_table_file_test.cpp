// Energy tables: the shipped ones, and what a wrong one is told.
#include "formats/settings/energy_table_file.h"

#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kTable =
    "unit: pJ\n"
    "mac: {energy: 0.3, source: a}\n"
    "add: {energy: 0.1, source: b}\n"
    "hop: {energy: 2, bits: 16, source: c}\n"
    "sram:\n"
    "  - {kib: 8, energy: 10, bits: 64, source: d}\n"
    "dram: {energy: 1280, bits: 64, source: e}\n"
    "operations:\n"
    "  - {name: fp32 add, energy: 0.9, source: f}\n"
    "area:\n"
    "  gate: {um2: 0.75, source: g}\n"
    "  flip_flop: {um2: 5, source: h}\n"
    "  sram_bit: {um2: 1.5, source: i}\n";

TEST(EnergyTableFile, IsReadWithEnergiesOfOneBit) {
  const TemporaryFolder folder;
  const EnergyTable expected = {.name = "mine",
                                .unit = "pJ",
                                .mac = 0.3,
                                .add = 0.1,
                                .hop = 0.125,
                                .sram = {{8, 10, 64}},
                                .dram = 20,
                                .operations = {{"fp32 add", 0.9}},
                                .area = AreaTable{.gate = 0.75, .flip_flop = 5, .sram_bit = 1.5}};
  EXPECT_EQ(load_energy_table(folder.file("mine.yaml", kTable)), expected);
}

TEST(EnergyTableFile, ShippedTablesHaveTheNumbersOfTheirSources) {
  const EnergyTable horowitz = load_energy_table("configs/energy/horowitz-45nm.yaml");
  EXPECT_EQ(horowitz.unit, kPicojoules);
  EXPECT_EQ(horowitz.mac, 0.3);
  EXPECT_EQ(horowitz.add, 0.1);
  EXPECT_EQ(horowitz.hop, std::nullopt);
  EXPECT_EQ(horowitz.sram, (std::vector<SramPoint>{{8, 10, 64}, {32, 20, 64}, {1024, 100, 64}}));
  EXPECT_EQ(horowitz.dram, 1300.0 / 64);
  EXPECT_EQ(horowitz.area, (AreaTable{.gate = 0.798, .flip_flop = 5.32, .sram_bit = 1.2107}));
  const EnergyTable eyeriss = load_energy_table("configs/energy/eyeriss-65nm.yaml");
  EXPECT_EQ(eyeriss.mac, 1.0);
  EXPECT_EQ(eyeriss.add, std::nullopt);
  EXPECT_EQ(eyeriss.hop, 2.0 / 16);
  EXPECT_EQ(eyeriss.sram, (std::vector<SramPoint>{{100, 6, 16}}));
  EXPECT_EQ(eyeriss.dram, 200.0 / 16);
  EXPECT_EQ(eyeriss.area, std::nullopt);
}

TEST(EnergyTableFile, MistakesSayWhereAndWhatIsAllowed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = kTable;
    text.replace(text.find(from), from.size(), to);
    return error_of([&] { load_energy_table(folder.file("e.yaml", text)); });
  };
  const auto expect = [&](const std::string& found, const std::string& place,
                          const std::string& words) {
    EXPECT_NE(found.find("e.yaml:" + place + ": "), std::string::npos) << found;
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  expect(message("energy: 0.3", "energy: 0"), "2:15",
         "found 0; expected a number from 1e-12 to 1e12");
  expect(message("energy: 0.3", "energy: -1"), "2:15", "found -1; expected a number from 1e-12");
  expect(message("bits: 16", "bits: 1e13"), "4:24", "found 1e13; expected a number from 1e-12");
  expect(message("source: e", "source: ''"), "7:40",
         "source: found ''; expected one line of printable text");
  expect(message(", source: c", ""), "4:6", "hop: the key 'source' is missing");
  expect(message("  - {kib: 8, energy: 10, bits: 64, source: d}", "  []"), "6:3",
         "sram: the list is empty; give at least one size");
  expect(
      message("source: d}\n", "source: d}\n  - {kib: 8.0001, energy: 20, bits: 64, source: g}\n"),
      "7:11", "found 8.0001; expected at least 1.1 times the size before it");
  expect(message("um2: 5,", "um2: 0,"), "12:20", "found 0; expected a number from 1e-12 to 1e12");
  expect(message(", source: i", ""), "13:13", "sram_bit: the key 'source' is missing");
  expect(message("  gate:", "  port:"), "11:3", "unknown key 'port'");
  expect(message("hop:", "jump:"), "4:1", "unknown key 'jump'");
  expect(message("dram:", "# dram:"), "1:1", "the key 'dram' is missing");
}

}  // namespace
}  // namespace qsim
