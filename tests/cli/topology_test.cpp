// SCALE-Sim's files on the command line: a topology is a list of networks whose results add up, and
// a .cfg is a configuration with its dataflow.
#include <gtest/gtest.h>

#include "tests/cli/golden_command.h"

namespace qsim {
namespace {

constexpr const char* kTopology =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n"
    "first, 18, 14, 3, 3, 20, 24, 1,\n"
    "second, 9, 9, 3, 3, 4, 40, 2,\n"
    "gemm, 30, 50, 1, 50, 1, 10, 1,\n"
    "second, 9, 9, 3, 3, 4, 40, 2,\n";
constexpr const char* kConfig =
    "[general]\nrun_name = mine\n[architecture_presets]\nArrayHeight: 8\nArrayWidth: 8\n"
    "IfmapSramSzkB: 20\nFilterSramSzkB: 8\nOfmapSramSzkB: 4\nDataflow: is\nBandwidth: 8\n"
    "[run_presets]\nInterfaceBandwidth: USER\n";

// A topology and a configuration in a folder, and qsim's --json of it.
struct Files {
  TestFolder folder;
  std::string model = folder.write("net.csv", kTopology);
  std::string config = folder.write("mine.cfg", kConfig);

  Json json(const std::string& command, const std::string& arguments = "") const {
    const Outcome outcome = run_qsim(
        folder, command + " --quiet --json - --config mine.cfg --model net.csv " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }
};

// Numbers of `sum`, and those within it, that are not what `parts` have together.
void expect_sums(const Json& sum, const std::vector<Json>& parts, const std::string& where) {
  for (const auto& [key, value] : sum.items()) {
    const std::string place = where + "." + key;
    if (value.is_object()) {
      std::vector<Json> inner;
      for (const Json& part : parts) {
        if (part.contains(key)) inner.push_back(part[key]);
      }
      expect_sums(value, inner, place);
    } else if (value.is_number_integer()) {
      std::int64_t count = 0;
      for (const Json& part : parts) count += part.value(key, std::int64_t{0});
      EXPECT_EQ(value.get<std::int64_t>(), count) << place;
    }
  }
}

TEST(TopologyRun, IsTheSumOfTheRunsOfItsLayers) {
  const Files files;
  const std::string options = "--no-data --engine recurrence --energy horowitz-45nm ";
  const Json all = files.json("run", options);
  ASSERT_EQ(all["layers"].size(), 4u);
  EXPECT_EQ(all["layers"][3]["name"], "second#2");
  std::vector<Json> totals;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string name = all["layers"][i]["name"];
    Json one = files.json("run", options + "--layers '" + name + "'");
    ASSERT_EQ(one["layers"].size(), 1u);
    EXPECT_EQ(one["layers"][0], all["layers"][i]) << name;
    totals.push_back(one["total"]);
  }
  expect_sums(all["total"], totals, "total");
  const double pes = 64;
  EXPECT_NEAR(all["total"]["utilization"].get<double>(),
              all["total"]["macs"].get<double>() / (pes * all["total"]["cycles"].get<double>()),
              1e-12);
  std::int64_t path = 0;
  for (const auto& [part, cycles] : all["total"]["critical_path_cycles"].items()) {
    path += cycles.get<std::int64_t>();
  }
  EXPECT_EQ(path, all["total"]["cycles"].get<std::int64_t>());
}

TEST(TopologyRun, EveryUnitsCyclesAddUpToTheTotal) {
  const Files files;
  const Json all = files.json("run", "--no-data --engine recurrence");
  ASSERT_EQ(all["total"]["units"].size(), 4u);
  for (const auto& [unit_name, unit] : all["total"]["units"].items()) {
    std::int64_t cycles =
        unit["busy_cycles"].get<std::int64_t>() + unit.value("start_cycles", std::int64_t{0}) +
        unit.value("drain_cycles", std::int64_t{0}) + unit.value("idle_cycles", std::int64_t{0});
    for (const auto& [name, stall] : unit["stalls"].items()) cycles += stall.get<std::int64_t>();
    EXPECT_EQ(cycles, all["total"]["cycles"].get<std::int64_t>()) << unit_name;
  }
}

TEST(TopologyRun, ComparesEveryLayerWithGoldenOnEveryEngineOfTime) {
  const Files files;
  const Json run = files.json("run");
  EXPECT_EQ(run["verify"]["mismatches"], 0);
  EXPECT_EQ(run["verify"]["values"], 16 * 12 * 24 + 2 * 16 * 40 + 30 * 10);
  const Json verify = files.json("verify", "--engines interpreter,systemc,recurrence");
  EXPECT_EQ(verify["mismatches"], 0);
  EXPECT_EQ(verify["time_mismatches"], 0);
  EXPECT_EQ(verify["layers"], 4);
}

TEST(TopologyRun, TakesTheDataflowOfTheConfigurationUnlessAnOptionSaysOther) {
  const Files files;
  const std::string options = "--no-data --engine recurrence ";
  for (const Json& layer : files.json("run", options)["layers"]) {
    EXPECT_EQ(layer["dataflow"], "input_stationary");
  }
  for (const Json& layer : files.json("run", options + "--dataflow os")["layers"]) {
    EXPECT_EQ(layer["dataflow"], "output_stationary");
  }
}

TEST(TopologyRun, OnlyTheFirstLayerOfTheFileHasItsTapsLaidSideBySide) {
  const TestFolder folder;
  folder.write("rgb.csv",
               "Layer, H, W, FH, FW, C, N, S,\na, 18, 18, 3, 3, 3, 16, 1,\nb, 18, 18, 3, 3, 3, 16, "
               "1,\n");
  const Outcome all = run_qsim(folder, "run --no-data --quiet --json - --model rgb.csv");
  const Json layers = Json::parse(all.out)["layers"];
  EXPECT_TRUE(layers[0]["mapping"].get<std::string>().ends_with(", taps")) << layers[0]["mapping"];
  EXPECT_FALSE(layers[1]["mapping"].get<std::string>().ends_with(", taps")) << layers[1]["mapping"];
  const Outcome one = run_qsim(folder, "run --no-data --quiet --json - --model rgb.csv --layers b");
  EXPECT_EQ(Json::parse(one.out)["layers"][0], layers[1]);
}

TEST(TopologyRun, MappingsOfAllLayersAreWrittenAndReadBack) {
  const Files files;
  const Json first = files.json("run", "--no-data --write-mapping m.yaml");
  const Json again = files.json("run", "--no-data --mapping m.yaml");
  EXPECT_EQ(first["layers"], again["layers"]);
  EXPECT_EQ(files.json("run", "--no-data --mapping m.yaml --layers gemm")["layers"][0],
            first["layers"][2]);
  files.folder.write("other.yaml",
                     "qsim_mapping: 1\narray_rows: 8\narray_cols: 8\nlayers:\n  - {name: third, "
                     "tile_rows: 1, tile_cols: 1, act_planes: 1, act_kernel_rows: 1, weight_folds: "
                     "1}\n");
  expect_error(files.folder,
               "run --quiet --no-data --config mine.cfg --model net.csv --mapping other.yaml", 3,
               "third");
}

TEST(TopologyRun, KeepsItsReportInAFolder) {
  const Files files;
  const Json all = files.json("run", "--no-data --out kept");
  EXPECT_EQ(Json::parse(read_file(files.folder / "kept/run.json"))["layers"], all["layers"]);
  EXPECT_NE(read_file(files.folder / "kept/layers.csv").find("second#2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(files.folder / "kept/output.npy"));
}

TEST(TopologyRun, NotesOfRoundedSizesGoToStderr) {
  const Files files;
  const std::string arguments = "run --no-data --config mine.cfg --model net.csv";
  const std::string note =
      "note: mine.cfg: IfmapSramSzkB 20: act_scratchpad_kib is 16, the "
      "largest power of two in it\n";
  EXPECT_NE(run_qsim(files.folder, arguments).err.find(note), std::string::npos);
  EXPECT_EQ(run_qsim(files.folder, arguments + " --quiet").err, "");
}

// Three of four rows have the same sizes, and the host lays no taps of the first: two searches.
// Each command says what the layers alone say.
TEST(TopologyRun, LayersOfTheSameSizesAreSearchedOnce) {
  const TestFolder folder;
  std::string rows = "Layer, M, N, K,\n";
  for (const char* name : {"first", "a", "b", "c"}) {
    rows += std::string(name) +
            (name == std::string("b") ? ", 256, 512, 512,\n" : ", 512, 512, 512,\n");
  }
  folder.write("net.csv", rows);
  const std::string arguments = " --model net.csv --mapping-search full --mapping-budget 0.001";
  for (const std::string command : {"run --no-data", "compile"}) {
    const Outcome outcome = run_qsim(folder, command + arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(" of 2 searches: their mappings are the best that was found"),
              std::string::npos)
        << command << ": " << outcome.err;
  }
  const Json all = json_of(folder, "run --no-data --model net.csv");
  for (const std::size_t layer : {1, 2, 3}) {
    Json whole = all["layers"][layer];
    const std::string name = whole["name"];
    Json alone = json_of(folder, "run --no-data --model net.csv --layers " + name)["layers"][0];
    EXPECT_EQ(whole, alone) << name;
  }
  const Json profile = json_of(folder, "profile --dataflow ws --model net.csv");
  const Json& layers = profile["points"][0]["layers"];
  ASSERT_EQ(layers.size(), 4U);
  EXPECT_EQ(layers[3]["name"], "c");
  EXPECT_EQ(layers[3]["cycles"], all["layers"][3]["cycles"]);
  EXPECT_EQ(layers[1]["cycles"], layers[3]["cycles"]);
}

TEST(TopologyCompile, CountsTheCommandsOfAllLayers) {
  const Files files;
  const Json sheet = files.json("compile");
  ASSERT_EQ(sheet["layers"].size(), 4u);
  std::int64_t commands = 0;
  for (const Json& layer : sheet["layers"]) {
    for (const char* unit : {"load", "execute", "post", "store"}) {
      commands += layer[unit].get<std::int64_t>();
    }
  }
  EXPECT_EQ(sheet["commands"], commands);
}

TEST(TopologyInspect, ListsTheConvolutionOfEachRow) {
  const Files files;
  const Outcome topology = run_qsim(files.folder, "inspect net.csv");
  EXPECT_EQ(topology.exit_code, 0) << topology.err;
  EXPECT_NE(topology.out.find("[1, 1, 30, 50]"), std::string::npos) << topology.out;
  const Outcome config = run_qsim(files.folder, "inspect mine.cfg");
  EXPECT_NE(config.out.find("accumulator kib        16"), std::string::npos) << config.out;
}

TEST(TopologyExplain, ExplainsOneOfTheLayers) {
  const Files files;
  const Json gemm = files.json("explain", "--layer gemm");
  EXPECT_EQ(gemm["layer"], "gemm");
  // Also with the dataflow of the .cfg.
  EXPECT_EQ(gemm["cycles"], files.json("run", "--no-data")["layers"][2]["cycles"]);
}

TEST(TopologyRefusals, SayWhichLayerToTake) {
  const Files files;
  const std::string model = " --quiet --config mine.cfg --model net.csv";
  expect_error(files.folder, "explain" + model, 2,
               "'net.csv' is a topology of 4 layers, each a network of its own, and qsim takes one "
               "of them here: name one with --layer. Its layers: first, second");
  expect_error(files.folder, "export-vectors --out v" + model, 2,
               "takes one of them here: name one with --layers. Its layers: first, second");
  expect_error(files.folder, "run --layers 'x*'" + model, 3,
               "--layers 'x*' matches no layer of 'net.csv'; its layers: first, second, gemm");
  expect_error(files.folder, "explain --layer gem" + model, 3,
               "--layer 'gem' is not a layer of 'net.csv'; did you mean 'gemm'? Its layers: first");
  for (const std::string option : {"--dump-layers", "--input"}) {
    expect_error(files.folder, "run " + option + " x.npy" + model, 2,
                 option +
                     " works on one network; 'net.csv' is a topology of 4 layers, each a "
                     "network of its own: name one with --layers");
  }
  expect_error(files.folder, "compile --out p.qprog" + model, 2,
               "each a network of its own: take a topology of one layer");
  expect_error(files.folder, "run --no-data --engine interpreter" + model, 2,
               "--no-data does not work with --engine interpreter");
}

}  // namespace
}  // namespace qsim
