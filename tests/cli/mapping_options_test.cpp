// --objective, --slack, --mapping-search, --mapping-budget and --dataflow auto, in every command
// that compiles a network.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/terminal/shared_options.h"
#include "core/base/error.h"
#include "tests/cli/small_network.h"

namespace qsim {

using namespace cli;
namespace {

using Json = nlohmann::json;

constexpr const char* kCommands[] = {"run --no-data", "verify", "explain", "compile",
                                     "export-vectors --out v"};

class MappingOptions : public TwoConvolutions {
 protected:
  void expect_refused(const std::string& arguments, const std::string& message) {
    expect_error(folder_, arguments + " --config pe4x4 --model small.yaml", 2, message);
  }
  Json report(const std::string& arguments) {
    const Outcome outcome =
        run("run --no-data --engine recurrence --energy horowitz-45nm --json - " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }
};

TEST_F(MappingOptions, TheDramPlanIsTakenWhereAProgramIsRunOrWritten) {
  for (const std::string command :
       {"run --no-data", "verify", "compile", "export-vectors --out v"}) {
    for (const char* plan : {"auto", "lifetime", "separate"}) {
      const Outcome outcome = run(command + " --dram-plan " + plan);
      EXPECT_EQ(outcome.exit_code, 0) << command << " " << plan << outcome.err;
    }
    expect_refused(command + " --dram-plan none",
                   "--dram-plan: found 'none'; allowed: auto, lifetime, separate");
  }
  const auto compiled = [this](const std::string& plan) {
    return Json::parse(run("compile --json - --dram-plan " + plan).out);
  };
  const Json separate = compiled("separate");
  const Json lifetime = compiled("lifetime");
  EXPECT_EQ(separate, compiled("auto"));  // a chain
  EXPECT_EQ(separate["activation_dram_bytes"], separate["separate_dram_bytes"]);
  EXPECT_EQ(lifetime["activation_dram_bytes"], lifetime["live_dram_bytes"]);
  EXPECT_LT(lifetime["activation_dram_bytes"], separate["activation_dram_bytes"]);
  EXPECT_EQ(lifetime["separate_dram_bytes"], separate["separate_dram_bytes"]);
  EXPECT_EQ(lifetime["layers"], separate["layers"]);
}

TEST_F(MappingOptions, AreTakenAndRefuseOtherValuesInEveryCommandThatCompiles) {
  for (const std::string command : kCommands) {
    for (const char* options :
         {" --objective dram_bytes --mapping-search full", " --slack 0.5 --dataflow auto",
          " --objective energy_delay --energy eyeriss-65nm --mapping-budget 0.001"}) {
      const Outcome outcome = run(command + options);
      EXPECT_EQ(outcome.exit_code, 0) << command << options << outcome.err;
    }
    expect_refused(command + " --objective speed",
                   "--objective: found 'speed'; allowed: cycles, dram_bytes, energy, energy_delay");
    expect_refused(command + " --mapping-search slow",
                   "--mapping-search: found 'slow'; allowed: fast, full");
    for (const char* value : {"101", "-1", "1e1", ".5", "5.", "0x1", "1,5"}) {
      expect_refused(command + " --slack=" + value,
                     std::string("--slack: found '") + value +
                         "'; allowed: 0 to 100, in decimal digits, with a point or without");
    }
    expect_refused(command + " --mapping-budget 0",
                   "--mapping-budget: found '0'; allowed: 0.001 to 1000000, in decimal digits");
    expect_refused(command + " --dataflow best", "--dataflow: found 'best'; allowed: auto, ws");
    expect_error(folder_, command + " --config pe4x4 --model small.yaml --mapping none.yaml", 3,
                 "none.yaml: cannot be read: no such file");
    expect_error(folder_,
                 command + " --config pe4x4 --model small.yaml --objective energy --energy none", 3,
                 "'none' not found; searched: ");
  }
}

TEST_F(MappingOptions, WhatExcludesEachOtherIsRefused) {
  expect_refused("compile --objective energy",
                 "--objective energy needs a table of energies; add --energy horowitz-45nm, or one "
                 "of your own");
  expect_refused("run --objective energy_delay",
                 "--objective energy_delay needs a table of energies");
  expect_refused("verify --energy horowitz-45nm",
                 "--energy serves --objective energy and energy_delay alone here; add one of them");
  expect_refused("run --slack 1 --objective dram_bytes",
                 "--slack belongs to --objective cycles; leave it out");
  for (const char* option :
       {"--objective dram_bytes", "--slack 1", "--mapping-search full", "--mapping-budget 1",
        "--dataflow auto", "--objective energy --energy horowitz-45nm"}) {
    expect_error(folder_, std::string("verify --seeds 3 ") + option, 2,
                 "--seeds makes its own layers; leave out ");
  }
}

TEST_F(MappingOptions, APercentOfSlackIsAHundredth) {
  SearchOptions options;
  Declarations declared;
  declare_search(declared, options);
  const auto slack = std::ranges::find(declared.rows(), "--slack", &OptionRow::name);
  EXPECT_EQ(options.slack, std::nullopt);
  slack->take({"0.05"});
  EXPECT_EQ(options.slack, 0.0005);  // the mapper's own: not a bit beside it
  slack->take({"007"});
  EXPECT_EQ(options.slack, 0.07);
}

TEST_F(MappingOptions, EachObjectiveIsBestAtItsOwnAimOverTheNetwork) {
  const auto total = [](const Json& json) { return json["total"]; };
  const auto bytes = [&](const Json& json) {
    return total(json)["dram_read_bytes"].get<std::int64_t>() +
           total(json)["dram_write_bytes"].get<std::int64_t>();
  };
  const Json cycles = report("--mapping-search full --slack 0");
  const Json least_bytes = report("--mapping-search full --objective dram_bytes");
  const Json energy = report("--mapping-search full --objective energy");
  EXPECT_LE(total(cycles)["cycles"], total(least_bytes)["cycles"]);
  EXPECT_LE(total(cycles)["cycles"], total(energy)["cycles"]);
  EXPECT_LE(total(energy)["energy"], total(cycles)["energy"]);
  EXPECT_LE(total(energy)["energy"], total(least_bytes)["energy"]);
  // Bytes of commands count too, 32 for each.
  EXPECT_LE(bytes(least_bytes), bytes(cycles));
}

TEST_F(MappingOptions, AutoMixesDataflowsAndTheEnginesAgree) {
  const Json json = report("--dataflow auto --objective energy");
  for (const std::string dataflow : {"ws", "os", "is"}) {
    const Json pure = report("--objective energy --dataflow " + dataflow);
    EXPECT_LE(json["total"]["energy"].get<double>(),
              pure["total"]["energy"].get<double>() * (1 + 1e-12));
  }
  EXPECT_EQ(run("verify --dataflow auto --engines interpreter,systemc,recurrence").exit_code, 0);
}

TEST_F(MappingOptions, ExplainExplainsTheMappingsThatAreAskedFor) {
  const Outcome run_os = run("run --no-data --dataflow os --json r.json");
  ASSERT_EQ(run_os.exit_code, 0) << run_os.err;
  const Outcome outcome = run("explain --dataflow os --json e.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json explained = Json::parse(read_file(folder_ / "e.json"));
  EXPECT_EQ(explained["cycles"], Json::parse(read_file(folder_ / "r.json"))["total"]["cycles"]);
  // A mapping file is of one array: a change of the array's size cannot run with it.
  ASSERT_EQ(run("compile --write-mapping m.yaml").exit_code, 0);
  ASSERT_EQ(run("explain --mapping m.yaml --json e.json").exit_code, 0);
  const Json fixed = Json::parse(read_file(folder_ / "e.json"));
  ASSERT_EQ(fixed["not_possible"].size(), 2u) << fixed["not_possible"];
  EXPECT_EQ(fixed["not_possible"][0]["resource"], "array_rows");
  EXPECT_EQ(fixed["not_possible"][1]["resource"], "array_cols");
}

TEST_F(MappingOptions, ABudgetThatEndsGivesTheBestSoFarAndSaysSo) {
  const Outcome outcome =
      run("compile --mapping-search full --dataflow auto --mapping-budget 0.001");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("qsim: note: --mapping-budget ended "), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find(" searches: their mappings are the best that was found\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(without_progress(run("compile --mapping-budget 600").err), "");
  // The fast search ends with the budget too.
  const Outcome fast =
      run_qsim(folder_, "profile --dataflow ws --mapping-budget 0.001 --model vgg16");
  EXPECT_NE(fast.err.find("qsim: note: --mapping-budget ended "), std::string::npos) << fast.err;
}

TEST_F(MappingOptions, InterruptOfASearchSaysWhichLayerItWasAt) {
  folder_.write("interrupt.sh",
                "set -m\n"
                "\"$@\" 2> progress &\n"
                "while kill -0 $! 2> /dev/null && ! grep -q choosing progress; do sleep 0.1; done\n"
                "kill -INT $!\n"
                "wait $!\n"
                "code=$?\n"
                "cat progress >&2\n"
                "exit $code\n");
  const Outcome outcome = run_qsim(
      folder_, "compile --model vgg16 --mapping-search full --dataflow auto --out program.qprog",
      "bash interrupt.sh");
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_NE(outcome.err.find("qsim: choosing mappings: layer "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("qsim: interrupted: choosing mappings: layer "), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("; kept: nothing"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "program.qprog"));
}

TEST_F(MappingOptions, ADashWritesTheMappingsToStdoutAndNothingElse) {
  ASSERT_EQ(run("compile --write-mapping m.yaml").exit_code, 0);
  for (const std::string command : {"compile", "run --no-data"}) {
    const Outcome outcome = run(command + " --write-mapping -");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, read_file(folder_ / "m.yaml"));
    expect_refused(command + " --write-mapping - --json -",
                   "--json - and --write-mapping - cannot both write to stdout; give one of them a "
                   "file");
  }
  expect_refused("compile --write-mapping - --out -",
                 "--out - and --write-mapping - cannot both write to stdout; give one of them a "
                 "file");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "-"));
}

TEST_F(MappingOptions, AFileForMappingsThatCannotBeWrittenIsRefusedBeforeTheWork) {
  expect_error(folder_, "run --config pe4x4 --model none.yaml --write-mapping none/w.yaml", 3,
               "none/w.yaml: cannot be written: no such folder");
}

// The bounds are those of any mapping: no run is below them, whatever it aims at.
TEST_F(MappingOptions, NoRunIsBelowTheBounds) {
  for (const char* options : {"", "--dataflow os", "--objective dram_bytes --dataflow is",
                              "--slack 0 --mapping-search full"}) {
    const Json json = report(options);
    for (const Json& layer : json["layers"]) {
      const Json& bounds = layer["bounds"];
      EXPECT_GE(layer["cycles"], bounds["cycles"]) << options;
      EXPECT_GE(bounds["cycles"], bounds["mac_cycles"]);
      EXPECT_GE(bounds["cycles"], bounds["bus_cycles"]);
      EXPECT_EQ(bounds["mac_cycles"], (layer["macs"].get<std::int64_t>() + 15) / 16);
      const std::int64_t bytes = layer["dram_read_bytes"].get<std::int64_t>() +
                                 layer["dram_write_bytes"].get<std::int64_t>();
      EXPECT_GE(bytes, bounds["dram_bytes"]) << options;
      EXPECT_GE(bounds["dram_bytes_ratio"], 1.0);
      EXPECT_DOUBLE_EQ(bounds["cycles_ratio"],
                       layer["cycles"].get<double>() / bounds["cycles"].get<double>());
    }
    EXPECT_EQ(json["total"]["bounds"]["cycles"],
              json["layers"][0]["bounds"]["cycles"].get<std::int64_t>() +
                  json["layers"][1]["bounds"]["cycles"].get<std::int64_t>());
  }
  const Outcome with = run("run --no-data --bounds");
  EXPECT_NE(with.out.find("\nlower bounds, and how many times as much each layer takes\nlayer "),
            std::string::npos)
      << with.out;
  EXPECT_EQ(run("run --no-data").out.find("lower bounds"), std::string::npos);
  const Outcome without_time = run("run --engine interpreter --bounds --json r.json");
  EXPECT_EQ(without_time.exit_code, 0) << without_time.err;
  EXPECT_EQ(Json::parse(read_file(folder_ / "r.json"))["layers"][0]["bounds"]["cycles_ratio"],
            nullptr);
}

}  // namespace
}  // namespace qsim
