// `qsim run` end to end: JSON, --out, --layers, --no-data, names. (Interrupts: tests/faults.)
#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/settings/arch_config_file.h"
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

using Json = nlohmann::json;

// Two convolutions and a pool: milliseconds on every engine.
constexpr const char* kRunNetwork =
    "name: small\nseed: 3\ninput: {shape: [1, 12, 10, 5], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 20, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: max_pool, name: pool, kernel: 2}\n"
    "  - {op: conv2d, name: second, out_channels: 9, kernel: 3}\n";

Json run_json_of(const TestFolder& folder, const std::string& arguments) {
  const Outcome outcome = run_qsim(folder, arguments + " --json - --quiet", "QSIM_GOLDEN=cpu");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(without_progress(outcome.err), "");
  Json json = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.out;
  return json;
}

// Everything that depends on how fast this machine is.
void drop_times(Json& json) {
  json.erase("wall_seconds");
  json.erase("phase_seconds");
}

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(Run, JsonHasTheFieldsOfTheSchema) {
  const TestFolder folder;
  const Json json = run_json_of(folder, "--model " + folder.write("small.yaml", kRunNetwork));
  EXPECT_EQ(json["schema"], "qsim.run/3");
  EXPECT_EQ(json["engine"], "systemc");
  EXPECT_EQ(json["provenance"]["config_hash"].get<std::string>().rfind("fnv1a64:", 0), 0u);
  EXPECT_EQ(json["config"]["array_rows"], 16);
  ASSERT_EQ(json["layers"].size(), 2u);
  EXPECT_EQ(json["layers"][0]["name"], "first");
  EXPECT_EQ(json["verify"]["golden"], "cpu");
  EXPECT_EQ(json["verify"]["values"], 6 * 5 * 20 + 4 * 3 * 9);
  EXPECT_EQ(json["verify"]["mismatches"], 0);
  EXPECT_GT(json["wall_seconds"].get<double>(), 0);
  std::int64_t cycles = 0;
  for (const Json& layer : json["layers"]) {
    cycles += layer["cycles"].get<std::int64_t>();
    EXPECT_GT(layer["utilization"].get<double>(), 0);
    EXPECT_LE(layer["utilization"].get<double>(), 1);
  }
  EXPECT_EQ(json["total"]["cycles"], cycles);
}

TEST(Run, TwoRunsDifferInNothingButTimes) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork) + " --seed 5";
  Json first = run_json_of(folder, arguments);
  Json second = run_json_of(folder, arguments);
  drop_times(first);
  drop_times(second);
  EXPECT_EQ(first.dump(2), second.dump(2));
}

TEST(Run, WithoutDataTheCyclesAreTheSameAndNothingIsCompared) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork);
  const Json with = run_json_of(folder, arguments);
  const Json without = run_json_of(folder, arguments + " --no-data");
  EXPECT_EQ(with["layers"], without["layers"]);
  EXPECT_EQ(with["total"], without["total"]);
  EXPECT_TRUE(without["verify"].is_null());
  EXPECT_GT(without["wall_seconds"].get<double>(), 0);
  EXPECT_TRUE(run_json_of(folder, arguments + " --no-verify")["verify"].is_null());
}

TEST(Run, TheRecurrenceReportsWhatSystemcDoes) {
  const TestFolder folder;
  const std::string arguments = "--no-data --model " + folder.write("small.yaml", kRunNetwork);
  const Json systemc = run_json_of(folder, arguments);
  const Json recurrence = run_json_of(folder, arguments + " --engine recurrence");
  EXPECT_EQ(recurrence["engine"], "recurrence");
  EXPECT_GT(recurrence["total"]["cycles"], 1000);
  for (const char* part : {"layers", "total"}) {
    EXPECT_EQ(recurrence[part], systemc[part]) << part;
  }
  EXPECT_TRUE(recurrence["verify"].is_null());
}

TEST(Verify, ComparesTheTimesOfTheRecurrenceAndNotItsBytes) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder,
                                   "verify --json - --quiet --engines recurrence,systemc "
                                   "--model " +
                                       folder.write("small.yaml", kRunNetwork));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json["engines"].size(), 1u);
  EXPECT_EQ(json["engines"][0]["engine"], "systemc");
  EXPECT_EQ(json["values"], json["engines"][0]["values"]);
  EXPECT_FALSE(json["layers"][0].contains("recurrence"));
  ASSERT_EQ(json["cycles"].size(), 1u);
  EXPECT_EQ(json["cycles"][0]["engines"], "recurrence against systemc");
  EXPECT_GT(json["timed_commands"], 10);
  EXPECT_EQ(json["time_mismatches"], 0);
}

TEST(Run, InterpreterHasNoTimeAndTheSameBytes) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork);
  const Json json = run_json_of(folder, arguments + " --engine interpreter --out interpreter");
  EXPECT_TRUE(json["total"]["cycles"].is_null());
  EXPECT_EQ(json["verify"]["mismatches"], 0);
  run_json_of(folder, arguments + " --out systemc");
  EXPECT_EQ(read_file(folder / "interpreter/output_q.npy"),
            read_file(folder / "systemc/output_q.npy"));
}

TEST(Run, OutFolderHoldsEverythingAndNothingHalfWritten) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "--model " + folder.write("small.yaml", kRunNetwork) +
                                               " --config pe8x8 --out new/run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::filesystem::path out = folder / "new/run";
  EXPECT_EQ(files_in(out), 5u);
  EXPECT_EQ(load_arch_config(out / "config.yaml").array_rows, 8);
  EXPECT_EQ(Json::parse(read_file(out / "run.json"))["schema"], "qsim.run/3");
  EXPECT_EQ(read_file(out / "layers.csv").rfind("name,op,", 0), 0u);
  const Tensor output = read_npy(out / "output.npy");
  EXPECT_EQ(output.shape, (Shape{1, 4, 3, 9}));
  EXPECT_EQ(output, read_npy(out / "output_q.npy"));
}

TEST(Run, ShippedModelSeesTheCatAndKeepsFloatLogits) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "--config pe16x16 --out out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("chelsea-32x32: cat 95.5%, "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" 0 mismatches"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("where the cycles went"), std::string::npos);
  const Tensor logits = read_npy(folder / "out/output.npy");
  EXPECT_EQ(logits.dtype, DType::kFloat32);
  EXPECT_EQ(logits.shape, (Shape{1, 10}));
  const Tensor raw = read_npy(folder / "out/output_q.npy");
  EXPECT_EQ(raw.shape, (Shape{1, 10}));
  EXPECT_EQ(dtype_bytes(raw.dtype), 1u);
  const Json json = Json::parse(read_file(folder / "out/run.json"));
  EXPECT_EQ(json["output"]["top"][0]["label"], "cat");
  EXPECT_FLOAT_EQ(json["output"]["top"][0]["score"].get<float>(),
                  *std::max_element(logits.as<float>().begin(), logits.as<float>().end()));
}

TEST(Run, LayersGlobCutsTheNetworkAndGivesTheSameRows) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork);
  const Json all = run_json_of(folder, arguments);
  const Json second = run_json_of(folder, arguments + " --layers 'sec*'");
  ASSERT_EQ(second["layers"].size(), 1u);
  EXPECT_EQ(second["layers"][0]["name"], "second");
  EXPECT_EQ(second["layers"][0]["macs"], all["layers"][1]["macs"]);
  EXPECT_EQ(second["verify"]["mismatches"], 0);
  const Json first = run_json_of(folder, arguments + " --layers first");
  ASSERT_EQ(first["layers"].size(), 1u);
  EXPECT_EQ(first["layers"][0]["op"], all["layers"][0]["op"]);
  EXPECT_EQ(first["layers"][0]["cycles"], all["layers"][0]["cycles"]);
  const Outcome none = run_qsim(folder, arguments + " --layers 'nope*'");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("its layers: first"), std::string::npos) << none.err;
}

TEST(Run, BatchOfAWorkloadGrowsTheOutput) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork);
  const Json json = run_json_of(folder, arguments + " --batch 3 --out out");
  EXPECT_EQ(json["verify"]["mismatches"], 0);
  EXPECT_EQ(read_npy(folder / "out/output.npy").shape, (Shape{3, 4, 3, 9}));
}

TEST(Run, DumpedLayersAreATraceThatReplays) {
  const TestFolder folder;
  const std::string model = folder.write("small.yaml", kRunNetwork);
  ASSERT_EQ(run_qsim(folder, "--model " + model + " --dump-layers trace").exit_code, 0);
  const LayerTrace trace = read_layer_trace(folder / "trace");
  EXPECT_EQ(trace.ofmaps.size(), trace.graph.layers.size());
  const Json json = run_json_of(folder, "--model ./trace");
  EXPECT_EQ(json["layers"], run_json_of(folder, "--model " + model)["layers"]);
  EXPECT_EQ(json["verify"]["mismatches"], 0);
}

TEST(Run, HalfATraceIsRefused) {
  const TestFolder folder;
  const std::string model = folder.write("small.yaml", kRunNetwork);
  ASSERT_EQ(run_qsim(folder, "--model " + model + " --dump-layers trace").exit_code, 0);
  std::filesystem::remove(folder / "trace/trace.yaml");  // what an interrupt leaves
  expect_error(
      folder, "verify --model ./trace", 3,
      "./trace: has no trace.yaml; it is not a layer trace, or its writing was interrupted");
  expect_error(folder, "verify --model trace", 3, "./trace (a folder without trace.yaml)");
}

// Without data there is no output; one of an earlier run would not belong to this run.json.
TEST(Run, OutFolderHoldsNothingOfAnEarlierRun) {
  const TestFolder folder;
  const std::string arguments = "--model " + folder.write("small.yaml", kRunNetwork) + " --out out";
  ASSERT_EQ(run_qsim(folder, arguments).exit_code, 0);
  EXPECT_EQ(files_in(folder / "out"), 5u);
  ASSERT_EQ(run_qsim(folder, arguments + " --no-data").exit_code, 0);
  EXPECT_EQ(files_in(folder / "out"), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out/output.npy"));
}

TEST(Run, NpyInputInTheModelsLayoutGivesTheSameOutputAsThePicture) {
  const TestFolder folder;
  ASSERT_EQ(run_qsim(folder, "--out a --dump-layers trace").exit_code, 0);
  const LayerTrace trace = read_layer_trace(folder / "trace");
  const ImageShape& s = trace.graph.input_value().shape;
  Tensor nchw(DType::kFloat32, {1, s.channels, s.height, s.width});
  const bool is_unsigned = trace.input.dtype == DType::kUint8;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    for (std::int64_t p = 0; p < s.height * s.width; ++p) {
      const auto from = static_cast<std::size_t>(p * s.channels + c);
      const int q =
          is_unsigned ? trace.input.as<std::uint8_t>()[from] : trace.input.as<std::int8_t>()[from];
      nchw.as<float>()[static_cast<std::size_t>(c * s.height * s.width + p)] =
          std::ldexp(static_cast<float>(q - trace.graph.input_value().zero_point),
                     -*trace.graph.input_value().scale_exponent());
    }
  }
  write_npy(folder / "picture.npy", nchw);
  ASSERT_EQ(run_qsim(folder, "--input picture.npy --out b").exit_code, 0);
  EXPECT_EQ(read_file(folder / "a/output.npy"), read_file(folder / "b/output.npy"));
}

// VGG-16 has 138 MB of weights. Commands that do not compute with them draw none.
TEST(Run, CommandsWithoutDataTakeNoMemoryForWeights) {
  const TestFolder folder;
  for (const std::string command :
       {"run --no-data --model vgg16", "run --no-data --engine recurrence --model vgg16",
        "compile --model vgg16", "explain --model vgg16", "inspect vgg16",
        "profile --dataflow ws --model vgg16 --jobs 1"}) {
    const Outcome outcome = run_qsim(folder, command, "ulimit -d 110000 &&");
    EXPECT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
  }
  const Outcome outcome = run_qsim(folder, "run --model vgg16", "ulimit -d 110000 &&");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("are available (docs/reference/limits.md)"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace qsim
