// --mapping and --write-mapping.
#include "core/machine/mapping.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

// A mapping that the compiler would not choose, of the layer `second`.
std::string file(const std::string& changed = "", const std::string& name = "second") {
  return "qsim_mapping: 1\nmodel: small\narray_rows: 4\narray_cols: 4\nlayers:\n  - name: " + name +
         "\n    tile_rows: 2\n    tile_cols: 3\n    act_planes: 1\n    act_kernel_rows: 2\n"
         "    weight_folds: 6\n    tiles_per_half: 2\n    halves_per_pass: 2\n"
         "    order: blocks_outer\n    load_order: release\n    act_slots: 4\n" +
         changed;
}

class MappingOption : public TwoConvolutions {
 protected:
  void expect_refused(const std::string& content, const std::string& message) {
    folder_.write("m.yaml", content);
    expect_error(folder_, "compile --config pe4x4 --model small.yaml --mapping m.yaml", 3, message);
  }
};

TEST_F(MappingOption, AWrittenFileGivesTheSameProgramAgain) {
  ASSERT_EQ(run("compile --write-mapping chosen.yaml --out a.qprog").exit_code, 0);
  const Outcome again = run("compile --mapping chosen.yaml --write-mapping b.yaml --out b.qprog");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_file(folder_ / "a.qprog"), read_file(folder_ / "b.qprog"));
  EXPECT_EQ(read_file(folder_ / "chosen.yaml"), read_file(folder_ / "b.yaml"));
}

TEST_F(MappingOption, AFileOfThousandsOfLayersIsReadBack) {
  std::string network = "name: long\nseed: 1\ninput: {shape: [1, 2, 2, 4], dtype: int8}\nlayers:\n";
  for (int i = 0; i < 6000; ++i) {
    network +=
        "  - {op: conv2d, name: layer" + std::to_string(i) + ", out_channels: 4, kernel: 1}\n";
  }
  folder_.write("long.yaml", network);
  const std::string compile = "compile --quiet --config pe4x4 --model long.yaml ";
  ASSERT_EQ(run_qsim(folder_, compile + "--write-mapping long_map.yaml").exit_code, 0);
  const Outcome again =
      run_qsim(folder_, compile + "--mapping long_map.yaml --write-mapping b.yaml");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_file(folder_ / "long_map.yaml"), read_file(folder_ / "b.yaml"));
}

TEST_F(MappingOption, AGivenMappingRunsAndIsReportedFieldByField) {
  folder_.write("m.yaml", file());
  const Outcome outcome = run("run --mapping m.yaml --write-mapping w.yaml --json r.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json layers = Json::parse(read_file(folder_ / "r.json"))["layers"];
  const Json fields = layers[1]["mapping_fields"];
  EXPECT_EQ(fields.size(), mapping_fields().size());
  EXPECT_EQ(fields["tile_rows"], 2);
  EXPECT_EQ(fields["tiles_per_half"], 2);
  EXPECT_EQ(fields["order"], "blocks_outer");
  EXPECT_EQ(fields["first_weight_folds"], 6);
  EXPECT_EQ(fields["acts_resident"], false);
  EXPECT_EQ(fields["dataflow"], "weight_stationary");
  EXPECT_NE(layers[0]["mapping_fields"]["tile_rows"], nullptr);  // chosen
  EXPECT_NE(read_file(folder_ / "w.yaml").find("    load_order: release\n"), std::string::npos);
  EXPECT_EQ(run("verify --mapping m.yaml").exit_code, 0);
  EXPECT_EQ(run("export-vectors --mapping m.yaml --out vectors").exit_code, 0);
}

TEST_F(MappingOption, ADataflowIsThatOfEveryLayerWhoseMappingIsChosen) {
  folder_.write("m.yaml", file());
  for (const auto& [word, dataflow] :
       {std::pair("os", "output_stationary"), std::pair("input_stationary", "input_stationary")}) {
    const std::string options = "--mapping m.yaml --dataflow " + std::string(word);
    ASSERT_EQ(run("run " + options + " --json r.json").exit_code, 0);
    const Json layers = Json::parse(read_file(folder_ / "r.json"))["layers"];
    EXPECT_EQ(layers[0]["dataflow"], dataflow);
    EXPECT_EQ(layers[0]["mapping_fields"]["dataflow"], dataflow);
    EXPECT_EQ(layers[1]["dataflow"], "weight_stationary");  // as the file says
    EXPECT_EQ(run("verify " + options).exit_code, 0);
  }
  expect_error(folder_, "run --model small.yaml --dataflow sw", 2,
               "--dataflow: found 'sw'; allowed: auto, ws, os, is, weight_stationary");
  expect_error(folder_, "verify --seeds 3 --dataflow os", 2,
               "--seeds makes its own layers; leave out --dataflow");
}

TEST_F(MappingOption, WhatDoesNotFitIsRefusedAtItsPlace) {
  expect_refused(file("", "secnd"),
                 "m.yaml:6:11: the program has no layer 'secnd'; did you mean 'second'?");
  expect_refused(file("", "zz"), "m.yaml:6:11: the program has no layer 'zz'\n");
  expect_refused(file("    act_kernel_rows: 2\n"), "duplicate key");
  expect_refused(file("    weight_slots: 16\n"),
                 "m.yaml:17:19: the mapping does not fit layer 'second': weight_slots is 16; 0 to "
                 "15 is allowed (the tokens that a semaphore counts)");
  expect_refused(file("    blocks: 2\n"),
                 "m.yaml:17:13: the mapping does not fit layer 'second': "
                 "blocks is 2; 1 to 1 is allowed");
  expect_refused(file("    weights_resident: true\n"),
                 "weight_slots is 4, which needs 8 weight slots, one for each chunk that is in use "
                 "at once; 4 are there");
}

TEST_F(MappingOption, OfACutNetworkTheFileMayNameOtherLayers) {
  folder_.write("m.yaml", file());
  EXPECT_EQ(run("run --mapping m.yaml --layers first").exit_code, 0);
}

TEST_F(MappingOption, AProfileRunsItsLayersThatWayAtEveryPointWhoseArrayItFits) {
  folder_.write("m.yaml", file());
  ASSERT_EQ(run("run --no-data --mapping m.yaml --json r.json").exit_code, 0);
  const Json total = Json::parse(read_file(folder_ / "r.json"))["total"];
  const std::string profile = "profile --model small.yaml --mapping m.yaml ";
  const Outcome outcome = run_qsim(
      folder_, profile + "--config pe4x4,pe8x8 --dataflow ws,os --json p.json --resume kept.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(read_file(folder_ / "p.json"));
  EXPECT_EQ(json["search"]["mapping"], "m.yaml");
  const Json& points = json["points"];
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0]["total"]["cycles"], total["cycles"]);
  EXPECT_EQ(points[0]["layers"][1]["dataflow"], "weight_stationary");
  EXPECT_EQ(points[1]["layers"][1]["dataflow"], "weight_stationary") << "that of the file";
  EXPECT_EQ(points[1]["layers"][0]["dataflow"], "output_stationary") << "which is not in it";
  EXPECT_NE(points[2]["error"].get<std::string>().find("m.yaml:3:"), std::string::npos)
      << points[2]["error"];
  // Another file is another point for --resume, and no file too.
  const Outcome without = run_qsim(folder_,
                                   "profile --model small.yaml --config pe4x4 --dataflow ws "
                                   "--json q.json --resume kept.json");
  EXPECT_EQ(without.err.find("kept.json has"), std::string::npos) << without.err;
  EXPECT_EQ(Json::parse(read_file(folder_ / "q.json"))["search"]["mapping"], nullptr);
}

TEST_F(MappingOption, AProfileRefusesAFileThatFitsNoPointOrNamesNoLayer) {
  const std::string profile = "profile --model small.yaml --mapping m.yaml --config ";
  folder_.write("m.yaml", file());
  expect_error(folder_, profile + "pe8x8,pe16x16", 3, "m.yaml:3:13: ");
  expect_error(folder_, profile + "pe4x4 --csv m.yaml", 2, "--csv would overwrite 'm.yaml'");
  folder_.write("m.yaml", file("", "secnd"));
  const Outcome wrong = run_qsim(folder_, profile + "pe4x4 --dataflow ws");
  EXPECT_EQ(wrong.exit_code, 4);
  EXPECT_NE(wrong.err.find("m.yaml:6:11: the program has no layer 'secnd'; did you mean 'second'?"),
            std::string::npos)
      << wrong.err;
  folder_.write("t.csv",
                "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, "
                "Channels, Num Filter, Strides,\na, 8, 8, 3, 3, 4, 8, 1,\n"
                "b, 8, 8, 3, 3, 8, 8, 1,\n");
  const Outcome topology =
      run_qsim(folder_, "profile --model t.csv --mapping m.yaml --config pe4x4 --dataflow ws");
  EXPECT_EQ(topology.exit_code, 4);
  EXPECT_NE(topology.err.find("m.yaml:6:11: the program has no layer 'secnd'"), std::string::npos)
      << topology.err;
}

TEST_F(MappingOption, TheFileIsNotOverwrittenAndRandomLayersHaveNone) {
  folder_.write("m.yaml", file());
  expect_error(folder_,
               "compile --config pe4x4 --model small.yaml --mapping m.yaml --write-mapping m.yaml",
               2, "--write-mapping would overwrite 'm.yaml', the mapping file of this run");
  expect_error(folder_, "verify --seeds 3 --mapping m.yaml", 2,
               "--seeds makes its own layers; leave out --mapping");
}

TEST_F(MappingOption, EveryCommandThatTakesTheOptionsRefusesTheirValues) {
  const std::string small = " --config pe4x4 --model small.yaml";
  for (const std::string command : {"run", "export-vectors --out v"}) {
    expect_error(folder_, command + small + " --mapping none.yaml", 3,
                 "none.yaml: cannot be read: no such file");
  }
  expect_error(folder_, "run" + small + " --write-mapping none/w.yaml", 3,
               "none/w.yaml: cannot be written: no such folder");
  for (const std::string command : {"compile", "export-vectors --out v"}) {
    expect_error(folder_, command + small + " --dataflow sw", 2, "--dataflow: found 'sw'; allowed");
  }
  EXPECT_EQ(run("export-vectors --out v --dataflow os").exit_code, 0);
}

}  // namespace
}  // namespace qsim
