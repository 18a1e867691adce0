// `qsim run --energy`: JSON, layers.csv, the printed block, and tables that are refused.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

constexpr const char* kMeasured =
    "name: small\nseed: 3\ninput: {shape: [1, 12, 10, 5], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 20, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: conv2d, name: second, out_channels: 9, kernel: 3}\n";

Json run_json_of(const TestFolder& folder, const std::string& arguments) {
  const Outcome outcome = run_qsim(folder, "run --no-data --quiet --json - " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

TEST(EnergyOption, LayersAddUpToTheTotalAndPartsToEachLayer) {
  const TestFolder folder;
  const Json json =
      run_json_of(folder, "--energy horowitz-45nm --model " + folder.write("s.yaml", kMeasured));
  EXPECT_EQ(json["energy"]["table"], "horowitz-45nm");
  EXPECT_EQ(json["energy"]["unit"], "pJ");
  double layers = 0;
  for (const Json& layer : json["layers"]) {
    double parts = 0;
    for (const auto& [name, energy] : layer["energy_parts"].items()) {
      EXPECT_EQ(energy.is_null(), name == "array_registers") << name;
      if (energy.is_number()) parts += energy.get<double>();
    }
    EXPECT_NEAR(parts, layer["energy"].get<double>(), 1e-6 * parts);
    EXPECT_EQ(layer["energy_events"]["dram_read_bits"].get<std::int64_t>(),
              8 * layer["dram_read_bytes"].get<std::int64_t>());
    layers += parts;
  }
  const double total = json["total"]["energy"].get<double>();
  EXPECT_GT(total, 0);
  EXPECT_NEAR(layers, total, 1e-6 * total);
  EXPECT_NEAR(json["energy"]["tops_per_watt"].get<double>(),
              2 * json["total"]["macs"].get<double>() / total, 1e-9);
}

TEST(EnergyOption, ReportsTheAreaOfEachPart) {
  const TestFolder folder;
  const std::string model = " --model " + folder.write("s.yaml", kMeasured);
  const Json area = run_json_of(folder, "--energy horowitz-45nm" + model)["area"];
  EXPECT_EQ(area["table"], "horowitz-45nm");
  EXPECT_EQ(area["extrapolated"], "");
  EXPECT_EQ(area["parts"].size(), 12U);
  double sum = 0;
  for (const auto& [name, part] : area["parts"].items()) {
    EXPECT_NEAR(part["mm2"].get<double>(),
                1e-6 * (0.798 * part.value("gates", 0.0) + 5.32 * part.value("flip_flops", 0.0) +
                        1.2107 * part.value("sram_bits", 0.0)),
                1e-9)
        << name;
    EXPECT_GT(part["mm2"].get<double>(), 0) << name;
    sum += part["mm2"].get<double>();
  }
  EXPECT_NEAR(area["total"]["mm2"].get<double>(), sum, 1e-9);
  EXPECT_EQ(area["parts"]["activations"]["sram_bits"], 2'097'152);
  const Json wide = run_json_of(folder, "--config pe16x32 --energy eyeriss-65nm" + model)["area"];
  EXPECT_EQ(wide["extrapolated"].get<std::string>().find("array_cols 32 (counted: "), 0U);
  EXPECT_TRUE(wide["total"]["mm2"].is_null());
  EXPECT_EQ(wide["parts"]["pes"]["gates"].get<std::int64_t>() / 2,
            area["parts"]["pes"]["gates"].get<std::int64_t>());
}

TEST(EnergyOption, OfATableOfRatiosHasNoWatts) {
  const TestFolder folder;
  const Json json =
      run_json_of(folder, "--energy eyeriss-65nm --model " + folder.write("s.yaml", kMeasured));
  EXPECT_TRUE(json["energy"]["tops_per_watt"].is_null());
  EXPECT_TRUE(json["total"]["energy_parts"]["adds"].is_null());
  EXPECT_GT(json["total"]["energy_parts"]["array_registers"].get<double>(), 0);
}

TEST(EnergyOption, IsTheOnlyReasonForEnergyInAReport) {
  const TestFolder folder;
  const std::string model = " --model " + folder.write("s.yaml", kMeasured);
  const Json without = run_json_of(folder, model);
  Json with = run_json_of(folder, "--energy horowitz-45nm" + model);
  with.erase("energy");
  for (Json* entry : {&with["layers"][0], &with["layers"][1], &with["total"]}) {
    for (const char* key : {"energy", "energy_parts", "energy_events"}) entry->erase(key);
  }
  EXPECT_EQ(with["layers"], without["layers"]);
  EXPECT_EQ(with["total"], without["total"]);
  EXPECT_FALSE(without.contains("energy"));
}

TEST(EnergyOption, AddsColumnsAndABlock) {
  const TestFolder folder;
  const Outcome outcome =
      run_qsim(folder, "run --no-data --out out --energy horowitz-45nm --model " +
                           folder.write("s.yaml", kMeasured));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("energy by horowitz-45nm: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not in the table, so not counted: array registers\n"),
            std::string::npos);
  std::istringstream csv(read_file(folder / "out/layers.csv"));
  std::string titles;
  std::getline(csv, titles);
  EXPECT_NE(titles.find(",energy,energy_macs,energy_array_registers,"), std::string::npos)
      << titles;
  const auto commas = std::count(titles.begin(), titles.end(), ',');
  for (std::string line; std::getline(csv, line);) {
    const std::size_t quote = line.find('"');  // around a mapping that has commas
    if (quote != std::string::npos) line.erase(quote, line.rfind('"') - quote + 1);
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas) << line;
  }
}

TEST(EnergyOption, RefusesATableThatIsWrongOrAbsentOrWouldBeOverwritten) {
  const TestFolder folder;
  const std::string model = " --no-data --model " + folder.write("s.yaml", kMeasured);
  expect_error(folder, "run --energy horowitz-45n" + model, 3,
               "energy table 'horowitz-45n' not found; searched: ./horowitz-45n");
  folder.write("zero.yaml",
               "unit: pJ\nmac: {energy: 0, source: a}\nsram:\n"
               "  - {kib: 8, energy: 10, bits: 64, source: b}\n"
               "dram: {energy: 1, bits: 1, source: c}\n");
  expect_error(folder, "run --energy zero.yaml" + model, 3,
               "zero.yaml:2:15: energy: found 0; expected a number from 1e-12 to 1e12");
  folder.write("none.yaml",
               "unit: pJ\nmac: {energy: 1, source: a}\nsram: []\n"
               "dram: {energy: 1, bits: 1, source: c}\n");
  expect_error(folder, "run --energy none.yaml" + model, 3,
               "sram: the list is empty; give at least one size");
  expect_error(folder, "run --energy zero.yaml --json zero.yaml" + model, 2,
               "--json would overwrite 'zero.yaml', the energy table of this run");
}

}  // namespace
}  // namespace qsim
