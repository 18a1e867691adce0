// --fail-if of `qsim run` and `qsim profile`, and `qsim compare`.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

// A folder with the network, and base.json of a run or profile of it on pe16x16.
class ConditionsTest : public ::testing::Test {
 protected:
  explicit ConditionsTest() { folder_.write("n.yaml", kSmallNetwork); }

  void make_base(const std::string& command) const {
    const Outcome outcome = run_qsim(folder_, command + " --model n.yaml --json base.json --quiet");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  // Exit code of the command with the condition.
  Outcome with(const std::string& command, const std::string& condition) const {
    return run_qsim(folder_, command + " --model n.yaml --quiet --fail-if '" + condition + "'");
  }

  TestFolder folder_;
};

TEST_F(ConditionsTest, ARunIsComparedWithARun) {
  make_base("run --no-data");
  EXPECT_EQ(with("run", "cycles>1.01*base.json").exit_code, 0);
  EXPECT_EQ(with("run", "cycles!=base.json || dram_bytes != base.json").exit_code, 0);
  const Outcome slower = with("run --no-data --config pe8x8", "cycles>1.01*base.json");
  EXPECT_EQ(slower.exit_code, 6);
  EXPECT_EQ(slower.err.rfind("qsim: error: --fail-if 'cycles>1.01*base.json' is true for n.yaml on "
                             "pe8x8, ws: cycles = ",
                             0),
            0u)
      << slower.err;
  EXPECT_NE(slower.out.find("where the cycles went"), std::string::npos) << "it is printed first";
  EXPECT_EQ(with("run --no-data --config pe8x8", "any(cycles < base.json)").exit_code, 0);
  EXPECT_EQ(with("run --no-data --config pe8x8", "wide.cycles > base.json").exit_code, 6);
}

TEST_F(ConditionsTest, AProfileIsComparedPointByPoint) {
  make_base("profile --set bus_bytes=8,16");
  EXPECT_EQ(with("profile --set bus_bytes=16,8", "cycles != base.json").exit_code, 0);
  EXPECT_EQ(with("profile --set bus_bytes=8", "cycles > 0.99*base.json").exit_code, 6);
  const Outcome missing = with("profile --set bus_bytes=4 --dataflow os", "cycles > base.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(
      missing.err.find("base.json has no result of n.yaml on pe16x16, bus_bytes 4, os; it has "
                       "'n.yaml on pe16x16, bus_bytes 8, os', "),
      std::string::npos)
      << missing.err;
  EXPECT_EQ(
      with("profile --energy horowitz-45nm", "energy > 0 && energy_delay < 1 pJ x cycle").exit_code,
      0);
}

TEST_F(ConditionsTest, EveryPointOverTheLimitIsNamed) {
  const Outcome outcome = with("profile", "cycles > 1");
  EXPECT_EQ(outcome.exit_code, 6);
  for (const char* dataflow : {"ws", "os", "is"}) {
    const std::string line =
        "--fail-if 'cycles > 1' is true for n.yaml on pe16x16, " + std::string(dataflow);
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
  }
}

TEST_F(ConditionsTest, APointThatDoesNotRunIsNotWithinTheLimit) {
  const Outcome outcome = with("profile --dataflow ws --set array_rows=12,16", "cycles > 1e12");
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_NE(outcome.err.find("--fail-if 'cycles > 1e12' has no value for n.yaml on pe16x16, "
                             "array_rows 12, ws, which does not run\n"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ConditionsTest, WrongConditionsAndFilesAreErrorsBeforeTheWork) {
  const std::string command = "profile --model n.yaml --fail-if ";
  expect_error(folder_, command + "'cycles >'", 2,
               "--fail-if 'cycles >': column 9: found the end; expected a number, a field");
  expect_error(folder_, "run --model n.yaml --fail-if cycles", 2, "--fail-if 'cycles': column 7");
  expect_error(folder_, command + "'cycles > no.json'", 3, "no.json: cannot be read: no such file");
  expect_error(folder_, command + "'cycles > \"n.yaml\"'", 2, "a file's name ends in .json");
  folder_.write("other.json", "{\"schema\": \"qsim.doctor/1\"}");
  expect_error(folder_, command + "'cycles > other.json'", 3,
               "other.json: schema 'qsim.doctor/1'; expected qsim.run/3 or qsim.profile/1");
  make_base("run --no-data");
  expect_error(folder_, command + "'cycles > base.json' --json base.json", 2,
               "--json would overwrite 'base.json', the results of --fail-if of this run");
  expect_error(folder_, "run --engine interpreter --model n.yaml --fail-if 'cycles > 1'", 2,
               "--fail-if needs times, which --engine interpreter does not have; take another "
               "engine");
}

TEST_F(ConditionsTest, AConditionAboutEnergyNeedsATableBeforeTheWork) {
  for (const char* command : {"run", "profile"}) {
    expect_error(folder_, command + std::string(" --model n.yaml --fail-if 'energy > 1 uJ'"), 2,
                 "--fail-if 'energy > 1 uJ' is about energy or area; give --energy TABLE");
  }
}

// The table shows uJ, the field is pJ.
TEST_F(ConditionsTest, AnEnergyIsComparedInTheUnitOfTheTable) {
  for (const char* command : {"run", "profile"}) {
    const std::string by = std::string(command) + " --model n.yaml --energy ";
    expect_error(folder_, by + "horowitz-45nm --fail-if 'energy > 8000'", 2,
                 "--fail-if 'energy > 8000': column 10: found '8000'; expected a unit after it");
  }
  const std::string profile = "profile --dataflow ws --energy ";
  const Outcome least = with(profile + "horowitz-45nm", "energy > 1 pJ");
  EXPECT_EQ(least.exit_code, 6);
  EXPECT_NE(least.err.find("energy = "), std::string::npos) << least.err;
  EXPECT_NE(least.err.find(" uJ, compared with 1 pJ"), std::string::npos) << least.err;
  EXPECT_EQ(with(profile + "horowitz-45nm", "energy > 1 J").exit_code, 0);
  EXPECT_EQ(with(profile + "eyeriss-65nm", "energy > 1000000 million").exit_code, 0);
  const Outcome joules = with(profile + "eyeriss-65nm", "energy > 1 J");
  EXPECT_EQ(joules.exit_code, 3);
  EXPECT_NE(joules.err.find("; give numbers in millions of it: 8000 million"), std::string::npos)
      << joules.err;
}

TEST_F(ConditionsTest, WhatCannotBeComparedIsRefused) {
  make_base("profile --energy horowitz-45nm");
  const Outcome energies = with("profile --energy eyeriss-65nm", "energy > base.json");
  EXPECT_EQ(energies.exit_code, 3);
  EXPECT_NE(energies.err.find("base.json has energies by the table 'horowitz-45nm', this by "
                              "'eyeriss-65nm'; give the same --energy"),
            std::string::npos)
      << energies.err;
  const Outcome batch = with("profile --batch 2", "cycles > base.json");
  EXPECT_EQ(batch.exit_code, 3);
  EXPECT_NE(batch.err.find("; it is of another --batch or of another model of that name"),
            std::string::npos)
      << batch.err;
}

TEST_F(ConditionsTest, ARunIsComparedWithThePointOfItsOptions) {
  make_base("profile");
  for (const std::string dataflow : {"ws", "os", "is", "auto"}) {
    const Outcome same = with("run --no-data --dataflow " + dataflow, "cycles != base.json");
    EXPECT_EQ(same.exit_code, 0) << dataflow << ": " << same.err;
  }
  const Outcome missing = with("run --no-data --config pe8x8", "cycles > base.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("base.json has no result of n.yaml on pe8x8, ws; it has 'n.yaml on "
                             "pe16x16, ws', "),
            std::string::npos)
      << missing.err;
}

// Its layers have dataflows of their own, which are not what was asked for.
TEST_F(ConditionsTest, ARunOfAutoIsComparedWithThePointOfAuto) {
  make_base("profile --dataflow auto");
  EXPECT_EQ(with("run --no-data --dataflow auto", "cycles != base.json").exit_code, 0);
  EXPECT_EQ(with("run --no-data --dataflow ws", "cycles != base.json").exit_code, 3);
}

TEST_F(ConditionsTest, AFileThatHasAPointTwiceIsRefused) {
  make_base("profile --dataflow os");
  Json json = Json::parse(read_file(folder_ / "base.json"));
  json["points"].push_back(json["points"][0]);
  folder_.write("twice.json", json.dump());
  const std::string message =
      "twice.json: points[0] and points[1] are both 'n.yaml on pe16x16, os'; each point must "
      "differ from the others in its model, configuration, --set values or dataflow";
  expect_error(folder_, "compare base.json twice.json", 3, message);
  expect_error(folder_, "profile --model n.yaml --fail-if 'cycles > twice.json'", 3, message);
  json["points"][1]["dataflow"] = "ws";
  folder_.write("twice.json", json.dump());
  EXPECT_EQ(run_qsim(folder_, "compare base.json twice.json --quiet").exit_code, 0);
}

TEST_F(ConditionsTest, ARunWithoutTimesIsNoBase) {
  make_base("run --engine interpreter");
  expect_error(folder_, "profile --model n.yaml --fail-if 'cycles > base.json'", 3,
               "base.json, layers[0]: has no cycles: the engine had no time");
}

TEST_F(ConditionsTest, ARunAndAProfileHaveTheFieldsOfTheWholeNetwork) {
  for (const std::string command : {"run --no-data", "profile --dataflow ws"}) {
    make_base(command + " --energy horowitz-45nm");
    const std::string with_energy = command + " --energy horowitz-45nm";
    for (const char* field : {"tops_per_watt", "area_mm2", "pes", "simulated_seconds"}) {
      const std::string name = field;
      EXPECT_EQ(with(with_energy, name + " <= 0").exit_code, 0) << command << " " << name;
      EXPECT_EQ(with(with_energy, name + " != base.json").exit_code, 0) << command << " " << name;
      EXPECT_EQ(with(with_energy, name + " > 0.5 * base.json").exit_code, 6) << command;
    }
    const Outcome other = with(command + " --energy eyeriss-65nm", "tops_per_watt > 1");
    EXPECT_EQ(other.exit_code, 3);
    EXPECT_NE(other.err.find("has no tops_per_watt; give --energy with a table in pJ"),
              std::string::npos);
    EXPECT_EQ(with(command, "area_mm2 > 1").exit_code, 2);
  }
}

TEST_F(ConditionsTest, CompareSaysWhatChanged) {
  make_base("run --no-data");
  const Outcome other =
      run_qsim(folder_, "run --no-data --model n.yaml --config pe8x8 --json other.json --quiet");
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const Outcome outcome = run_qsim(folder_, "compare base.json other.json --json c.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"other.json takes ", "\ntotals\n", "\nlayers\n", "\nwide "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }
  const Json json = Json::parse(read_file(folder_ / "c.json"));
  EXPECT_EQ(json["schema"], "qsim.compare/1");
  const Json base = Json::parse(read_file(folder_ / "base.json"));
  EXPECT_EQ(json["totals"][0]["cycles"], base["total"]["cycles"]);
  EXPECT_EQ(json["layers"].size(), 2u);
}

TEST_F(ConditionsTest, CompareTakesTwoFilesOfResults) {
  make_base("profile");
  EXPECT_EQ(run_qsim(folder_, "compare base.json base.json --config pe8x8 --quiet").exit_code, 0);
  const std::string takes =
      "qsim compare takes two files that --json of run or profile wrote; found ";
  expect_error(folder_, "compare", 2, takes + "0");
  expect_error(folder_, "compare base.json", 2, takes + "1: base.json");
  expect_error(folder_, "compare a.json b.json c.json", 2, takes + "3: a.json, b.json, c.json");
  expect_error(folder_, "compare base.json n.yaml", 3, "n.yaml: is not JSON");
  // Copies of values recurse.
  folder_.write("deep.json",
                "{\"x\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}");
  expect_error(folder_, "compare base.json deep.json", 3, "deep.json: is not JSON");
  expect_error(folder_, "compare base.json no.json", 3, "no.json: cannot be read: no such file");
  expect_error(folder_, "compare base.json base.json --json base.json", 2,
               "--json would overwrite 'base.json', the results of this run");
  expect_error(folder_, "compare base.json base.json --config no", 3, "no");
  expect_error(folder_, "compare base.json base.json --json no/c.json", 3, "no/c.json");
  ASSERT_EQ(run_qsim(folder_, "profile --model n.yaml --config pe8x8 --json other.json").exit_code,
            0);
  expect_error(folder_, "compare base.json other.json", 3,
               "base.json and other.json have no result of one model, configuration and dataflow "
               "in common; base.json has 'n.yaml on pe16x16, ws', ");
}

}  // namespace
}  // namespace qsim
