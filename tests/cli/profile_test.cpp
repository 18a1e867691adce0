// `qsim profile`: the costs of a run, for every point that the options ask for.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

// Every number that both have; the profile's names are those of the run.
void expect_same_costs(const Json& point, const Json& run) {
  const auto expect_same = [](const Json& of_point, const Json& of_run) {
    for (const auto& [name, value] : of_point.items()) {
      if (!of_run.contains(name) || name == "dataflow") continue;
      EXPECT_EQ(value, of_run[name]) << name;
    }
    for (const char* name : {"macs", "cycles", "utilization", "dram_read_bytes", "dram_write_bytes",
                             "stream_cycles", "start_cycles", "limited_by", "limiter_busy"}) {
      EXPECT_TRUE(of_point.contains(name) && of_run.contains(name)) << name;
    }
  };
  expect_same(point["total"], run["total"]);
  ASSERT_EQ(point["layers"].size(), run["layers"].size());
  for (std::size_t i = 0; i < point["layers"].size(); ++i) {
    expect_same(point["layers"][i], run["layers"][i]);
    EXPECT_EQ(point["layers"][i]["dataflow"], run["layers"][i]["dataflow"]);
    EXPECT_EQ(point["layers"][i]["name"], run["layers"][i]["name"]);
    EXPECT_EQ(point["layers"][i]["mapping"], run["layers"][i]["mapping"]);
  }
}

void expect_costs_of_runs(const TestFolder& folder, const Json& profile,
                          const std::string& options = "") {
  for (const Json& point : profile["points"]) {
    const std::string what = point["model"].get<std::string>() + " on " +
                             point["config"].get<std::string>() + ", " +
                             point["dataflow"].get<std::string>();
    SCOPED_TRACE(what);
    if (!point["error"].is_null()) continue;
    const Json run =
        quiet_json_of(folder, "run --no-data --model " + point["model"].get<std::string>() +
                                  " --config " + point["config"].get<std::string>() +
                                  " --dataflow " + point["dataflow"].get<std::string>() + options);
    expect_same_costs(point, run);
  }
}

TEST(Profile, CostsAreThoseOfARunOfEveryShippedConfig) {
  const TestFolder folder;
  const Json profile = quiet_json_of(
      folder,
      "profile --model vgg8-cifar10 --config pe4x4,pe8x8,pe16x16,pe16x32 --config pe32x32 "
      "--config tpu128x128 --energy eyeriss-65nm");
  EXPECT_EQ(profile["schema"], "qsim.profile/1");
  ASSERT_EQ(profile["points"].size(), 24u);
  expect_costs_of_runs(folder, profile, " --energy eyeriss-65nm");
}

TEST(Profile, CostsAreThoseOfARunOfEveryShippedWorkload) {
  const TestFolder folder;
  const Json profile =
      quiet_json_of(folder,
                    "profile --model vgg8,vgg16,alexnet,conv1x1,conv3x3,conv_odd,fc,fc_batch16,"
                    "maxpool_alone,relu_alone --dataflow os,weight_stationary");
  ASSERT_EQ(profile["points"].size(), 20u);
  EXPECT_EQ(profile["points"][1]["dataflow"], "ws");
  expect_costs_of_runs(folder, profile);
}

// A chain of convolutions and pools of random sizes.
std::string random_network(Random& random) {
  const auto drawn = [&random](std::int64_t low, std::int64_t high) {
    return std::to_string(random.uniform(low, high));
  };
  std::string text = "name: random\nseed: " + drawn(1, 1000) + "\ninput: {shape: [" + drawn(1, 2) +
                     ", " + drawn(9, 30) + ", " + drawn(9, 30) + ", " + drawn(1, 40) +
                     "], dtype: int8}\nlayers:\n";
  for (std::int64_t i = random.uniform(1, 3); i > 0; --i) {
    text += "  - {op: conv2d, name: c" + std::to_string(i) + ", out_channels: " + drawn(1, 90) +
            ", kernel: " + (random.chance(0.5) ? "3" : "1") + ", pad: 1, stride: " + drawn(1, 2) +
            "}\n";
    if (random.chance(0.3)) {
      text += "  - {op: max_pool, name: p" + std::to_string(i) + ", kernel: 2, stride: 1}\n";
    }
  }
  return text;
}

std::string random_config(Random& random) {
  const auto power = [&random](int low, int high) {
    return std::to_string(std::int64_t{1} << random.uniform(low, high));
  };
  return "array_rows: " + power(2, 5) + "\narray_cols: " + power(2, 5) +
         "\nbus_bytes: " + power(2, 6) + "\nact_scratchpad_kib: " + power(4, 9) +
         "\nweight_scratchpad_kib: " + power(4, 8) + "\naccumulator_kib: " + power(3, 8) +
         "\ndram_latency_cycles: " + std::to_string(random.uniform(1, 300)) + "\n";
}

TEST(Profile, CostsAreThoseOfARunOfRandomNetworksOnRandomConfigs) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TestFolder folder;
    folder.write("n.yaml", random_network(random));
    folder.write("c.yaml", random_config(random));
    Json profile = quiet_json_of(folder, "profile --model n.yaml --config c.yaml");
    for (Json& point : profile["points"]) {
      EXPECT_EQ(point["config"], "c");
      point["config"] = "c.yaml";
    }
    expect_costs_of_runs(folder, profile);
  }
}

TEST(Profile, CostsAreThoseOfARunOfScaleSimsFiles) {
  const TestFolder folder;
  folder.write(
      "net.csv",
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
      "Filter, Strides,\nfirst, 18, 14, 3, 3, 20, 24, 1,\nsecond, 9, 9, 3, 3, 4, 40, 2,\n");
  folder.write("mine.cfg",
               "[general]\nrun_name = mine\n[architecture_presets]\nArrayHeight: 8\nArrayWidth: "
               "8\nIfmapSramSzkB: 32\nFilterSramSzkB: 8\nOfmapSramSzkB: 4\nDataflow: "
               "is\nBandwidth: 8\n[run_presets]\nInterfaceBandwidth: USER\n");
  Json profile = quiet_json_of(
      folder, "profile --model net.csv --config mine.cfg --energy eyeriss-65nm --batch 2");
  ASSERT_EQ(profile["points"].size(), 4u);
  for (Json& point : profile["points"]) {
    EXPECT_EQ(point["layers"].size(), 2u);
    point["config"] = "mine.cfg";
  }
  expect_costs_of_runs(folder, profile, " --energy eyeriss-65nm --batch 2");
}

TEST(Profile, EveryObjectiveAndSearchIsThatOfARun) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  for (const char* options :
       {" --objective dram_bytes", " --energy eyeriss-65nm --objective energy",
        " --energy eyeriss-65nm --objective energy_delay", " --slack 30", " --mapping-search full",
        " --mapping-search full --slack 0 --mapping-budget 1000"}) {
    SCOPED_TRACE(options);
    const std::string arguments = std::string("profile --model n.yaml --dataflow auto,ws,os,is");
    const Json profile = quiet_json_of(folder, arguments + options);
    ASSERT_EQ(profile["points"].size(), 4u);
    EXPECT_EQ(profile["points"][0]["dataflow"], "auto");
    expect_costs_of_runs(folder, profile, options);
  }
}

TEST(Profile, JsonSaysHowMappingsWereSearched) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const std::string arguments = "profile --model n.yaml --dataflow ws";
  EXPECT_EQ(quiet_json_of(folder, arguments)["search"],
            Json::parse(R"({"objective": "cycles", "slack": 0.0005, "mapping_search": "fast",
                            "mapping_budget": null, "mapping": null})"));
  const Json edp = quiet_json_of(folder, arguments +
                                             " --objective energy_delay --energy horowitz-45nm "
                                             "--mapping-search full --mapping-budget 60");
  EXPECT_EQ(edp["search"], Json::parse(R"({"objective": "energy_delay", "slack": null,
                                           "mapping_search": "full", "mapping_budget": 60.0,
                                           "mapping": null})"));
  EXPECT_EQ(edp["measure"], "energy_delay");
  EXPECT_EQ(edp["energy"], Json::parse(R"({"table": "horowitz-45nm", "unit": "pJ"})"));
}

TEST(Profile, ASearchThatItsBudgetEndsIsTold) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Outcome outcome = run_qsim(
      folder, "profile --model n.yaml --dataflow all --mapping-search full --mapping-budget 0.001");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("qsim: note: --mapping-budget ended "), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find(" searches: their mappings are the best that was found"),
            std::string::npos)
      << outcome.err;
}

TEST(Profile, ConfigurationsOfOneNameAreToldApartByWhatTheUserWrote) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  folder.write("a/pe.yaml", "array_rows: 8\n");
  folder.write("b/pe.yaml", "array_rows: 16\n");
  folder.write("other.yaml", "array_rows: 32\n");
  const Json profile =
      quiet_json_of(folder,
                    "profile --model n.yaml --config a/pe.yaml,b/pe.yaml,other.yaml "
                    "--dataflow ws");
  EXPECT_EQ(profile["points"][0]["config"], "a/pe.yaml");
  EXPECT_EQ(profile["points"][1]["config"], "b/pe.yaml");
  EXPECT_EQ(profile["points"][2]["config"], "other");
  EXPECT_LT(profile["points"][1]["total"]["cycles"], profile["points"][0]["total"]["cycles"]);
}

TEST(Profile, EveryCombinationOfTheListsIsAPoint) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Json profile = quiet_json_of(
      folder,
      "profile --model n.yaml --set array_rows=8,16 --set bus_bytes=4,8,16 --dataflow ws "
      "--batch 2");
  ASSERT_EQ(profile["points"].size(), 6u);
  std::size_t at = 0;
  for (const int rows : {8, 16}) {
    for (const int bus : {4, 8, 16}) {
      const Json& point = profile["points"][at++];
      EXPECT_EQ(point["set"], Json({{"array_rows", rows}, {"bus_bytes", bus}}));
      folder.write("c.yaml", "array_rows: " + std::to_string(rows) +
                                 "\nbus_bytes: " + std::to_string(bus) + "\n");
      expect_same_costs(
          point, quiet_json_of(folder, "run --no-data --model n.yaml --config c.yaml --batch 2"));
    }
  }
}

TEST(Profile, ARequantizerIsSetByItsWord) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Json profile =
      quiet_json_of(folder, "profile --model n.yaml --set requantizer=shift,dyadic --dataflow ws");
  ASSERT_EQ(profile["points"].size(), 2u);
  for (const Json& point : profile["points"]) {
    const auto word = point["set"]["requantizer"].get<std::string>();
    folder.write("c.yaml", "requantizer: " + word + "\n");
    expect_same_costs(point, quiet_json_of(folder, "run --no-data --model n.yaml --config c.yaml"));
  }
  EXPECT_NE(profile["points"][1]["total"]["cycles"], profile["points"][0]["total"]["cycles"]);
}

#ifndef __SANITIZE_ADDRESS__  // whose shadow is beyond any limit
// With an accumulator of 1 KiB the layer takes 100 million commands, some gigabytes.
class ProfileWithLittleMemory : public ::testing::Test {
 protected:
  explicit ProfileWithLittleMemory() {
    folder_.write("big.yaml",
                  "name: big\nseed: 1\ninput: {shape: [1, 224, 224, 64], dtype: uint8}\nlayers:\n"
                  "  - {op: conv2d, name: c, out_channels: 512, kernel: 3, pad: 1}\n");
  }
  Outcome profile(const std::string& more) const {
    return run_qsim(folder_,
                    "profile --quiet --model big.yaml --config pe4x4 --dataflow ws " + more,
                    "ulimit -d 100000 &&");
  }

  TestFolder folder_;
};

// A point that lacks memory is not one that the accelerator cannot run: it might be the best one.
TEST_F(ProfileWithLittleMemory, APointWithoutMemoryIsSaidAndNotCompared) {
  const Outcome outcome =
      profile("--jobs 2 --set accumulator_kib=1,64 --json p.json --resume kept");
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_TRUE(outcome.err.starts_with(
      "qsim: error: 1 of 2 points had too little memory; the first: big.yaml on pe4x4, "
      "accumulator_kib 1, ws: model 'big.yaml': needs about "))
      << outcome.err;
  EXPECT_NE(outcome.out.find("  no memory\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("  It is the best of those that had memory: 1 point had none, and "
                             "might be better.\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\nhas no memory\n  big.yaml on pe4x4, accumulator_kib 1, ws: "),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("does not run"), std::string::npos) << outcome.out;
  const Json json = Json::parse(read_file(folder_ / "p.json"));
  EXPECT_EQ(json["points"].size(), 2u) << "the results are written";
  const Outcome rest = profile("--set accumulator_kib=64 --resume kept");
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
}

TEST_F(ProfileWithLittleMemory, NoPointWithMemoryIsNoPartialResult) {
  const Outcome outcome = profile("--set accumulator_kib=1");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(outcome.err.starts_with("qsim: error: 1 of 1 points had too little memory; "))
      << outcome.err;
}

// Beside another one there is not enough; alone there is.
TEST_F(ProfileWithLittleMemory, APointThatFitsAloneRunsAlone) {
  std::string points;
  for (int i = 0; i < 12; ++i) points += (i == 0 ? "" : ",") + std::to_string(100 + i);
  const std::string many = "--set accumulator_kib=32 --set clock_mhz=" + points;
  const Outcome one = profile(many + " --jobs 1");
  const Outcome all = profile(many + " --jobs 4");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.out, one.out);
}
#endif

}  // namespace
}  // namespace qsim
