// SCALE-Sim's .cfg files: the accelerator that each key comes to, and what a wrong file is told.
#include "formats/settings/scale_sim_config.h"

#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

// In the words of SCALE-Sim's own example.
constexpr const char* kArchitecture =
    "[general]\n"
    "run_name = example_32x32_os\n"
    "\n"
    "[architecture_presets]\n"
    "ArrayHeight:    32\n"
    "ArrayWidth:     16\n"
    "IfmapSramSzkB:   64\n"
    "FilterSramSzkB:  128\n"
    "OfmapSramSzkB:   32\n"
    "IfmapOffset:    0\n"
    "FilterOffset:   10000000\n"
    "OfmapOffset:    20000000\n"
    "Dataflow : os\n";
constexpr const char* kRest =
    "Bandwidth : 16\n"
    "MemoryBanks:   1\n"
    "ReadRequestBuffer: 32\n"
    "\n"
    "[layout]\n"
    "IfmapCustomLayout: False\n"
    "IfmapSRAMBankNum: 10\n"
    "[sparsity]\n"
    "SparsitySupport : false\n"
    "SparseRep : ellpack_block\n"
    "[run_presets]\n"
    "InterfaceBandwidth: USER\n"
    "UseRamulatorTrace: False\n";

std::string whole() { return std::string(kArchitecture) + kRest; }

// `text` with the first `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

ScaleSimConfig config_of(const TemporaryFolder& folder, const std::string& text) {
  return load_scale_sim_config(folder.file("machine.cfg", text));
}

TEST(ScaleSimConfig, BecomesTheAcceleratorOfTheSameSizes) {
  const TemporaryFolder folder;
  const ScaleSimConfig loaded = config_of(folder, whole());
  ArchConfig expected;
  expected.name = "machine";
  expected.array_rows = 32;
  expected.array_cols = 16;
  expected.act_scratchpad_kib = 64;
  expected.weight_scratchpad_kib = 128;
  expected.accumulator_kib = 128;  // four bytes for each of the ofmap's
  expected.output_scratchpad_kib = 32;
  expected.bus_bytes = 16;
  EXPECT_EQ(loaded.config, expected);
  EXPECT_EQ(loaded.dataflow, Dataflow::kOutputStationary);
  EXPECT_EQ(loaded.notes, std::vector<std::string>{});
  EXPECT_EQ(load_arch_config(folder.path() / "machine.cfg"), expected);
}

TEST(ScaleSimConfig, ShippedOneIsTheDefaultAccelerator) {
  const ScaleSimConfig loaded = load_scale_sim_config("configs/scale_sim/pe16x16.cfg");
  EXPECT_EQ(loaded.config, load_arch_config("configs/pe16x16.yaml"));
  EXPECT_EQ(loaded.notes, std::vector<std::string>{});
}

// `key: value` of the text, as a number.
std::int64_t number_of(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\n" + key);
  EXPECT_NE(at, std::string::npos) << key;
  return std::stoll(text.substr(text.find(':', at) + 1));
}

// SCALE-Sim 3.0.0 ends where the bandwidth is not a multiple of the banks, also without a layout.
TEST(ScaleSimConfig, ShippedOnesHaveBanksThatScaleSimTakes) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/scale_sim")) {
    SCOPED_TRACE(entry.path());
    const std::string text = read_text_file(entry.path());
    const std::int64_t bandwidth = number_of(text, "Bandwidth");
    EXPECT_EQ(bandwidth % number_of(text, "IfmapSRAMBankNum"), 0);
    EXPECT_EQ(bandwidth % number_of(text, "FilterSRAMBankNum"), 0);
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(ScaleSimConfig, RoundsSizesDownAndSaysSo) {
  const TemporaryFolder folder;
  std::string text = with(whole(), "IfmapSramSzkB:   64", "IfmapSramSzkB: 108");
  text = with(text, "OfmapSramSzkB:   32", "OfmapSramSzkB: 36");
  text = with(text, "Bandwidth : 16", "Bandwidth : 10,10, 10");
  const ScaleSimConfig loaded = config_of(folder, text);
  EXPECT_EQ(loaded.config.act_scratchpad_kib, 64);
  EXPECT_EQ(loaded.config.accumulator_kib, 128);
  EXPECT_EQ(loaded.config.output_scratchpad_kib, 32);
  EXPECT_EQ(loaded.config.bus_bytes, 8);
  EXPECT_EQ(loaded.notes,
            (std::vector<std::string>{
                "IfmapSramSzkB 108: act_scratchpad_kib is 64, the largest power of two in it",
                "OfmapSramSzkB 36: output_scratchpad_kib is 32 and accumulator_kib 128, the "
                "largest power of two in it",
                "Bandwidth 10: bus_bytes is 8, a power of two up to 256"}));
}

TEST(ScaleSimConfig, GivesNoMoreMemoryThanCommandsAddress) {
  const TemporaryFolder folder;
  std::string text = with(whole(), "ArrayHeight:    32", "ArrayHeight: 4");
  text = with(text, "ArrayWidth:     16", "ArrayWidth: 4");
  text = with(text, "IfmapSramSzkB:   64", "IfmapSramSzkB: 10240");
  text = with(text, "FilterSramSzkB:  128", "FilterSramSzkB: 10240");
  text = with(text, "OfmapSramSzkB:   32", "OfmapSramSzkB: 10240");
  text = with(text, "Bandwidth : 16", "Bandwidth : 1000");
  const ScaleSimConfig loaded = config_of(folder, text);
  EXPECT_EQ(loaded.config.act_scratchpad_kib, 4096);     // 2^20 words of 4 bytes
  EXPECT_EQ(loaded.config.weight_scratchpad_kib, 4096);  // the same
  EXPECT_EQ(loaded.config.output_scratchpad_kib, 512);   // 2^17 words of 4 bytes
  EXPECT_EQ(loaded.config.accumulator_kib, 2048);        // 2 halves of 2^16 words of 16 bytes
  EXPECT_EQ(loaded.config.bus_bytes, 256);
  ASSERT_EQ(loaded.notes.size(), 4u);
  expect_contains(loaded.notes[0], "the most that commands address");
}

TEST(ScaleSimConfig, WithoutABandwidthHasABusAsWideAsAWord) {
  const TemporaryFolder folder;
  for (const std::string& text : {with(whole(), "USER", "CALC"), std::string(kArchitecture)}) {
    const ScaleSimConfig loaded = config_of(folder, text);
    EXPECT_EQ(loaded.config.bus_bytes, 32);
    ASSERT_EQ(loaded.notes.size(), 1u);
    expect_contains(loaded.notes[0], "bus_bytes 32");
  }
}

TEST(ScaleSimConfig, TakesTheNamesOfTheFirstVersionAndAnyCase) {
  const TemporaryFolder folder;
  std::string text = with(whole(), "IfmapSramSzkB", "ifmapsramsz");
  text = with(text, "FilterSramSzkB:", "FilterSramSz =");
  text = with(text, "OfmapSramSzkB", "OfmapSramSz");
  text = with(text, "Dataflow : os\n", "; a comment\n# another\r\nDataflow = \"is\"\r\n");
  const ScaleSimConfig loaded = config_of(folder, "\xef\xbb\xbf" + text);
  EXPECT_EQ(loaded.config.weight_scratchpad_kib, 128);
  EXPECT_EQ(loaded.dataflow, Dataflow::kInputStationary);
}

TEST(ScaleSimConfig, NamesTheTopologyAsTheModel) {
  const TemporaryFolder folder;
  const std::string text = whole() + "[network_presets]\nTopologyCsvLoc = \"nets/a.csv\"\n";
  EXPECT_EQ(config_of(folder, text).config.model, "nets/a.csv");
  const std::string none = whole() + "[network_presets]\nTopologyCsvLoc = \"\"\n";
  expect_contains(error_of([&] { config_of(folder, none); }), "the name of a topology file");
}

TEST(ScaleSimConfig, SaysWhichPartsOfSimulatorQsimDoesNotHave) {
  const TemporaryFolder folder;
  std::string text = with(whole(), "IfmapCustomLayout: False", "IfmapCustomLayout: True");
  text = with(text, "UseRamulatorTrace: False", "UseRamulatorTrace: True");
  const ScaleSimConfig loaded = config_of(folder, text);
  ASSERT_EQ(loaded.notes.size(), 2u);
  expect_contains(loaded.notes[0], "IfmapCustomLayout True: not used");
  expect_contains(loaded.notes[1], "UseRamulatorTrace True: not used");
}

TEST(ScaleSimConfig, RefusesWhatFitsNoAcceleratorWithItsPlace) {
  const TemporaryFolder folder;
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  for (const Case& c : {
           Case{"ArrayHeight:    32", "ArrayHeight: 12",
                "machine.cfg:5:14: found ArrayHeight '12'; expected a power of two of PEs, 4 to "
                "256, in decimal digits"},
           Case{"ArrayWidth:     16", "ArrayWidth: 8,16", ":6:13: found ArrayWidth '8,16'"},
           Case{"IfmapSramSzkB:   64", "IfmapSramSzkB:",
                ":7:15: found IfmapSramSzkB ''; expected a size in KiB from 1 to 1048576"},
           Case{
               "Dataflow : os", "Dataflow : ws_os",
               ":13:12: found Dataflow 'ws_os'; expected one of SCALE-Sim's dataflows: ws, os, is"},
           Case{"Bandwidth : 16", "Bandwidth : 16,8",
                ":14:13: found Bandwidth '16,8'; expected one bandwidth in bytes a cycle"},
           Case{"Bandwidth : 16", "Bandwidth : ,", "found Bandwidth ','; expected one bandwidth"},
           Case{"Bandwidth : 16", "Bandwidth : 3",
                "expected a bandwidth of at least 4 bytes a cycle, the narrowest bus"},
           Case{"USER", "user", "expected CALC or USER, in capital letters"},
           Case{"SparsitySupport : false", "SparsitySupport : true",
                "expected False, since qsim computes dense layers: it skips no zero weight"},
           Case{"UseRamulatorTrace: False", "UseRamulatorTrace: no",
                "expected True or False as the value"},
           Case{"Dataflow : os\n", "",
                "machine.cfg: Dataflow is missing; a SCALE-Sim configuration has ArrayHeight"},
           Case{"ArrayWidth", "ArrayWidht",
                ":6:1: found the key 'ArrayWidht'; expected a key of [architecture_presets]; did "
                "you mean 'ArrayWidth'? Its keys: ArrayHeight"},
           Case{"[layout]", "[layouts]",
                "found the section '[layouts]'; expected a section of SCALE-Sim: general, arch"},
           Case{"[general]\n", "",
                ":1:1: found the line 'run_name = example_32x32_os'; expected a "
                "[section] before the first key"},
           Case{"MemoryBanks:   1", "MemoryBanks", "expected a [section], a 'key : value' or a"},
           Case{"ReadRequestBuffer: 32", "arraywidth: 8",
                "found the key 'arraywidth' a second time; expected every key once"},
           Case{"MemoryBanks:", "  MemoryBanks:", ":15:1: found a blank at the start of the line"},
           Case{"FilterSramSzkB:  128", "FilterSramSzkB:  1",
                "machine.cfg: config 'machine': weight_scratchpad_kib is 1, so that a slot"},
       }) {
    const std::string text = with(whole(), c.from, c.to);
    expect_contains(error_of([&] { config_of(folder, text); }), c.message);
  }
}

}  // namespace
}  // namespace qsim
