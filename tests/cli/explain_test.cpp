// `qsim explain`: what limits a layer, and that each gain is what a run of its own shows.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/machine/arch_config.h"
#include "formats/settings/arch_config_file.h"
#include "tests/cli/small_network.h"

namespace qsim {

using namespace formats;
namespace {

using Json = nlohmann::json;

std::string bus_of_8_bytes() {
  return "array_rows: 32\narray_cols: 32\nact_scratchpad_kib: 512\nweight_scratchpad_kib: 256\n"
         "accumulator_kib: 256\noutput_scratchpad_kib: 64\nbus_bytes: 8\n";
}

// The cycles of a run with one line of the config changed.
std::int64_t cycles_with(const TestFolder& folder, const Json& change, const std::string& layer) {
  ArchConfig config = load_arch_config(source_folder() / "configs/pe8x8.yaml");
  std::string text;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number == nullptr) continue;
    const bool changed = field.name == change["resource"].get<std::string>();
    const std::int64_t value = changed ? change["to"].get<std::int64_t>() : config.*field.number;
    text += std::string(field.name) + ": " + std::to_string(value) + "\n";
  }
  folder.write("changed.yaml", text);
  const Json run = quiet_json_of(folder, "run --no-data --model n.yaml --config changed.yaml");
  for (const Json& entry : run["layers"]) {
    if (entry["name"] == layer) return entry["cycles"];
  }
  return run["total"]["cycles"];
}

TEST(Explain, EachGainIsThatOfARunOfItsOwn) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  for (const std::string layer : {"first", ""}) {
    const std::string option = layer.empty() ? "" : " --layer " + layer;
    const Json json = quiet_json_of(folder, "explain --model n.yaml --config pe8x8" + option);
    EXPECT_EQ(json["layer"], layer);
    ASSERT_EQ(json["changes"].size() + json["not_possible"].size(), 12u);
    std::int64_t best = INT64_MAX;
    for (const Json& change : json["changes"]) {
      const std::int64_t cycles = change["cycles"];
      EXPECT_EQ(cycles, cycles_with(folder, change, layer)) << change;
      const std::int64_t saved = change["saved_cycles"];
      EXPECT_EQ(saved, json["cycles"].get<std::int64_t>() - cycles) << change;
      EXPECT_DOUBLE_EQ(change["saved_share"],
                       static_cast<double>(saved) / json["cycles"].get<double>());
      EXPECT_LE(saved, best) << change;  // best first
      best = saved;
    }
  }
}

TEST(Explain, SaysOfTheLayerWhatTheRunSays) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Json run = quiet_json_of(folder, "run --no-data --model n.yaml --config pe8x8");
  const Json json = quiet_json_of(folder, "explain --model n.yaml --config pe8x8 --layer wide");
  EXPECT_EQ(json["schema"], "qsim.explain/1");
  EXPECT_EQ(json["model"], "n.yaml");
  EXPECT_EQ(json["config"], "pe8x8");
  const Json& layer = run["layers"][1];
  EXPECT_EQ(json["cycles"], layer["cycles"]);
  EXPECT_EQ(json["limited_by"], layer["limited_by"]);
  EXPECT_EQ(json["limiter_busy"], layer["limiter_busy"]);
  EXPECT_DOUBLE_EQ(json["share"],
                   layer["cycles"].get<double>() / run["total"]["cycles"].get<double>());
  std::int64_t sum = 0;
  for (const Json& part : json["critical_path"]) {
    EXPECT_EQ(part["cycles"], layer["critical_path_cycles"][part["part"].get<std::string>()]);
    sum += part["cycles"].get<std::int64_t>();
  }
  EXPECT_EQ(sum, json["cycles"]);
}

TEST(Explain, ConvolutionOnANarrowBusIsLimitedByItsStores) {
  const TestFolder folder;
  folder.write("narrow.yaml", bus_of_8_bytes());
  const Json json =
      quiet_json_of(folder, "explain --config narrow.yaml --model vgg16 --layer conv1");
  EXPECT_EQ(json["limited_by"], "write_bus");
  EXPECT_GT(json["limiter_busy"], 0.99);
  const Json& best = json["changes"][0];
  EXPECT_EQ(best["resource"], "bus_bytes");
  EXPECT_EQ(best["to"], 16);
  EXPECT_GT(best["saved_share"], 0.49);
  const std::string sentence = json["in_words"][0]["sentence"];
  EXPECT_NE(sentence.find("conv1 takes "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("STOREs occupy it in 99."), std::string::npos) << sentence;
}

TEST(Explain, LayerThatRunsInAnotherIsExplainedAsThatOne) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Json json = quiet_json_of(folder, "explain --model n.yaml --layer pool");
  EXPECT_EQ(json["layer"], "first");
  const Json& words = json["in_words"];
  EXPECT_EQ(words[0]["sentence"],
            "pool runs in first, as one layer of the program. What follows is about both.");
  Json first = quiet_json_of(folder, "explain --model n.yaml --layer first");
  first["in_words"].insert(first["in_words"].begin(), words[0]);
  EXPECT_EQ(json, first);
}

TEST(Explain, LayerThatIsNotThereIsRefusedWithTheNearestName) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  expect_error(folder, "explain --model n.yaml --layer frist", 3,
               "--layer 'frist' is not a layer of 'n.yaml'; did you mean 'first'? Its layers: "
               "first, positive (in first), pool (in first), wide");
  expect_error(folder, "explain --model n.yaml --layer 'conv*'", 3,
               "--layer 'conv*' is not a layer of 'n.yaml'. Its layers: first, ");
}

TEST(Explain, ChangeThatLeavesTheRangeIsListedWithTheLimit) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  folder.write("edge.yaml", "bus_bytes: 256\ndram_latency_cycles: 1\nact_slots: 8\n");
  const Outcome outcome = run_qsim(folder, "explain --model n.yaml --config edge.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nnot possible\n"), std::string::npos) << outcome.out;
  const Json json = quiet_json_of(folder, "explain --model n.yaml --config edge.yaml");
  ASSERT_EQ(json["not_possible"].size(), 3u);
  EXPECT_EQ(json["not_possible"][0]["reason"],
            "config 'edge': act_slots is 16; allowed: a power of two from 2 to 8");
  EXPECT_EQ(json["not_possible"][1]["reason"],
            "config 'edge': bus_bytes is 512; allowed: a power of two from 4 to 256");
  EXPECT_EQ(json["not_possible"][2]["reason"],
            "config 'edge': dram_latency_cycles is 0; allowed: 1 to 10000");
  EXPECT_EQ(json["changes"].size(), 9u);
}

// Savings below 0 are explained where there is one, and only there.
TEST(Explain, WordsOnNegativeSavingsNeedANegativeSaving) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  std::int64_t with = 0;
  for (const char* layer : {"", " --layer first", " --layer wide"}) {
    for (const char* config : {"pe4x4", "pe8x8", "pe16x16", "pe16x32"}) {
      const Json json =
          quiet_json_of(folder, std::string("explain --model n.yaml --config ") + config + layer);
      const bool is_negative = json["changes"].back()["saved_cycles"] < 0;
      const std::string last = json["in_words"].back()["sentence"];
      EXPECT_EQ(last.starts_with("A negative saving means"), is_negative) << json;
      with += is_negative ? 1 : 0;
    }
  }
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 12);
}

TEST(Explain, TextHasTheSentenceAndTheTables) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Outcome outcome = run_qsim(folder, "explain --model n.yaml --json e.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(without_progress(outcome.err), "");
  for (const char* part : {"\nin words\n  The network takes ", " and is limited by ",
                           "\ncritical path\n", "\nchanges\nresource ", "\ndram_latency_cycles "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << '\n' << outcome.out;
  }
  EXPECT_EQ(outcome.out.find("not possible"), std::string::npos);
  EXPECT_EQ(Json::parse(read_file(folder / "e.json"))["layer"], "");
}

}  // namespace
}  // namespace qsim
