// core/machine/area.h against Yosys's counts (rtl/yosys/area.csv), which it is fitted to, and by
// hand.
#include "core/machine/area.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "core/machine/area_law.h"

namespace qsim {
namespace {

// A configuration of area.csv, and what was counted of each part: gates, flip-flops, memory bits.
struct Counted {
  ArchConfig arch;
  std::map<std::string, CellCounts> parts;
};

// Reads what was counted in the RTL for all three dataflows.
std::map<std::string, Counted> counted_in(const char* path, RequantizerKind requantizer) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line,
            "config,dataflows,array_rows,array_cols,act_scratchpad_kib,weight_scratchpad_kib,"
            "accumulator_kib,output_scratchpad_kib,bus_bytes,burst_beats,outstanding_bursts,part,"
            "gates,flip_flops,memory_bits");
  std::map<std::string, Counted> all;
  while (std::getline(file, line)) {
    for (char& c : line) c = c == ',' ? ' ' : c;
    std::istringstream cells(line);
    std::string name;
    std::string part;
    int dataflows = 0;
    ArchConfig a;
    CellCounts counts;
    cells >> name >> dataflows >> a.array_rows >> a.array_cols >> a.act_scratchpad_kib >>
        a.weight_scratchpad_kib >> a.accumulator_kib >> a.output_scratchpad_kib >> a.bus_bytes >>
        a.burst_beats >> a.outstanding_bursts >> part >> counts.gates >> counts.flip_flops >>
        counts.sram_bits;
    EXPECT_TRUE(cells) << line;
    if (dataflows != 7) continue;
    a.requantizer = requantizer;
    all[name].arch = a;
    all[name].parts[part] = counts;
  }
  return all;
}

std::map<std::string, Counted> counted() {
  return counted_in("rtl/yosys/area.csv", RequantizerKind::kShift);
}

double relative(std::int64_t found, std::int64_t expected) {
  return std::abs(static_cast<double>(found) / static_cast<double>(expected) - 1);
}

CellCounts sum(const AreaReport& area, std::initializer_list<AreaPart> parts) {
  CellCounts all;
  for (const AreaPart part : parts) all += area[part];
  return all;
}

TEST(Area, OfLogicIsWithinOnePercentOfYosysCounts) {
  const std::map<std::string, Counted> all = counted();
  EXPECT_GE(all.size(), 7U);
  for (const auto& [name, yosys] : all) {
    const AreaReport area = area_of(yosys.arch);
    CellCounts whole;
    for (const auto& [part, counts] : yosys.parts) whole += counts;
    EXPECT_LT(relative(area.total().gates, whole.gates), 0.01) << name;
    EXPECT_LT(relative(area.total().flip_flops, whole.flip_flops), 0.01) << name;
    EXPECT_EQ(area.outside, "") << name;
  }
}

TEST(Area, OfARequantizerForAnyScaleIsWithinOnePercentOfYosysCounts) {
  const auto all = counted_in("rtl/yosys/area_dyadic.csv", RequantizerKind::kDyadic);
  EXPECT_EQ(all.size(), 3U);
  for (const auto& [name, yosys] : all) {
    const AreaReport area = area_of(yosys.arch);
    CellCounts whole;
    for (const auto& [part, counts] : yosys.parts) whole += counts;
    EXPECT_LT(relative(area.total().gates, whole.gates), 0.01) << name;
    EXPECT_LT(relative(area.total().flip_flops, whole.flip_flops), 0.01) << name;
    EXPECT_EQ(area[AreaPart::kPost].sram_bits, 2 * 256 * 8 * yosys.arch.array_cols) << name;
  }
}

TEST(Area, HasEveryFlipFlopOfTheArray) {
  for (const auto& [name, yosys] : counted()) {
    const AreaReport area = area_of(yosys.arch);
    EXPECT_EQ(sum(area, {AreaPart::kPes, AreaPart::kArrayEdges}).flip_flops,
              yosys.parts.at("array").flip_flops)
        << name;
    EXPECT_EQ(area[AreaPart::kPes].flip_flops, 90 * yosys.arch.array_rows * yosys.arch.array_cols);
  }
}

TEST(Area, OfEachPartIsNearItsCount) {
  for (const auto& [name, yosys] : counted()) {
    const AreaReport area = area_of(yosys.arch);
    const auto near = [&](const char* part, const CellCounts& found, double most) {
      const CellCounts& expected = yosys.parts.at(part);
      EXPECT_LT(relative(found.gates, expected.gates), most) << name << ' ' << part;
      EXPECT_LT(relative(found.flip_flops, expected.flip_flops), most) << name << ' ' << part;
    };
    near("array", sum(area, {AreaPart::kPes, AreaPart::kArrayEdges}), 0.02);
    near("operands", area[AreaPart::kOperands], 0.05);
    near("accumulate", area[AreaPart::kPsumAdders], 0.02);
    near("post", area[AreaPart::kPost], 0.02);
    near("dma", area[AreaPart::kDma], 0.05);
    near("control", area[AreaPart::kControl], 0.02);
  }
}

TEST(Area, HasEveryBitOfMemoryThatYosysFound) {
  for (const auto& [name, yosys] : counted()) {
    const AreaReport area = area_of(yosys.arch);
    CellCounts queues;
    for (const auto& [part, counts] : yosys.parts) {
      if (part != "memories") queues += counts;
    }
    EXPECT_EQ(area[AreaPart::kQueues].sram_bits, queues.sram_bits) << name;
    EXPECT_EQ(sum(area, {AreaPart::kActivations, AreaPart::kWeights, AreaPart::kAccumulator,
                         AreaPart::kOutputs})
                  .sram_bits,
              yosys.parts.at("memories").sram_bits)
        << name;
  }
}

TEST(Area, OfMemoriesIsTheirBitsByHand) {
  const AreaReport area = area_of(ArchConfig());  // 16 x 16, as configs/pe16x16.yaml
  EXPECT_EQ(area[AreaPart::kActivations].sram_bits, 2'097'152);
  EXPECT_EQ(area[AreaPart::kWeights].sram_bits, 524'288);
  EXPECT_EQ(area[AreaPart::kAccumulator].sram_bits, 524'288);
  EXPECT_EQ(area[AreaPart::kOutputs].sram_bits, 131'072);
  // 4,096 of commands; 5 and 8 masks of 16; 16 x 11 + 17 x 74 of bursts; 33 psums of 4 + 9 + 2.
  EXPECT_EQ(area[AreaPart::kQueues].sram_bits, 4'096 + 80 + 128 + 176 + 1'258 + 495);
  EXPECT_EQ(area.total().sram_bits, 3'276'800 + 6'233);
}

TEST(Area, OfPesIsProportionalToTheirNumber) {
  ArchConfig arch;
  const CellCounts one = area_of(arch)[AreaPart::kPes];
  arch.array_cols = 64;
  const CellCounts four = area_of(arch)[AreaPart::kPes];
  EXPECT_LT(relative(four.gates, 4 * one.gates), 1e-5);
  EXPECT_LT(relative(four.flip_flops, 4 * one.flip_flops), 1e-4);
}

TEST(Area, OfAPartIsNeverBelowNothing) {
  ArchConfig arch;
  for (arch.array_rows = 4; arch.array_rows <= 256; arch.array_rows *= 2) {
    for (arch.array_cols = 4; arch.array_cols <= 256; arch.array_cols *= 2) {
      for (arch.bus_bytes = 4; arch.bus_bytes <= 256; arch.bus_bytes *= 2) {
        const AreaReport area = area_of(arch);
        for (std::size_t p = 0; p < kAreaParts; ++p) {
          EXPECT_GE(area.parts[p].gates, 0) << kAreaPartNames[p];
          EXPECT_GE(area.parts[p].flip_flops, 0) << kAreaPartNames[p];
        }
      }
    }
  }
}

TEST(Area, InSquareMillimetresIsEachCellTimesItsArea) {
  const AreaTable table{.gate = 2, .flip_flop = 5, .sram_bit = 0.25};
  EXPECT_DOUBLE_EQ(mm2({3'000'000, 200'000, 4'000'000}, table), 6 + 1 + 1);
  AreaReport area;
  area.parts[0] = {1'000'000, 0, 0};
  area.parts[kAreaParts - 1] = {0, 0, 8'000'000};
  EXPECT_DOUBLE_EQ(total_mm2(area, table), 4);
}

TEST(Area, SaysWhatIsBeyondTheCountedConfigurations) {
  ArchConfig arch;
  arch.array_rows = 8;
  arch.bus_bytes = 8;
  EXPECT_EQ(area_of(arch).outside, "");
  arch.array_rows = 128;
  arch.bus_bytes = 64;
  const std::string outside = area_of(arch).outside;
  EXPECT_EQ(outside.find("array_rows 128 (counted: 4 to "), 0U) << outside;
  EXPECT_NE(outside.find(", bus_bytes 64 (counted: 4 to "), std::string::npos) << outside;
}

}  // namespace
}  // namespace qsim
