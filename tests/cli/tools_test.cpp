// `qsim verify`, `compile`, `inspect` and `doctor`.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kSmallInt8 =
    "name: small\nseed: 4\ninput: {shape: [1, 9, 11, 6], dtype: int8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 24, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: conv2d, name: second, out_channels: 5, kernel: 2, stride: 2}\n";

TEST(Verify, EveryEngineAgreesWithGoldenOnAWorkload) {
  const TestFolder folder;
  folder.write("small.yaml", kSmallInt8);
  const Outcome outcome = run_qsim(folder, "verify --model small.yaml --json - --quiet");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "qsim.verify/1");
  EXPECT_EQ(json["mismatches"], 0);
  ASSERT_EQ(json["engines"].size(), 3u);  // the interpreter in order and in random order
  for (const Json& engine : json["engines"]) {
    EXPECT_EQ(engine["values"], 9 * 11 * 24 + 4 * 5 * 5) << engine;
    EXPECT_EQ(engine["mismatches"], 0);
  }
}

TEST(Verify, RandomLayersPrintAHistogramAndNameTheirSeeds) {
  const TestFolder folder;
  const Outcome outcome =
      run_qsim(folder, "verify --seeds 6 --seed 100 --config pe4x4 --json - --quiet");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["random_layers"], 6);
  EXPECT_EQ(json["first_seed"], 100);
  EXPECT_EQ(json["mismatches"], 0);
  EXPECT_EQ(json["engines"][0]["programs"], 6);
  std::int64_t rounding = 0;
  for (const Json& row : json["histogram"]) {
    if (row["feature"] == "rounding") rounding += row["layers"].get<std::int64_t>();
  }
  EXPECT_GT(rounding, 0);
}

TEST(Verify, RandomLayersSayWhichBucketsAreEmptyInTextAndJson) {
  const TestFolder folder;
  const std::string arguments = "verify --seeds 1 --config pe4x4 --engines interpreter --quiet";
  const Json json = Json::parse(run_qsim(folder, arguments + " --json -").out);
  const std::string text = run_qsim(folder, arguments).out;
  std::size_t empty = 0;
  for (const Json& row : json["histogram"]) {
    if (row["layers"] != 0) continue;
    const std::string name =
        row["feature"].get<std::string>() + " " + row["value"].get<std::string>();
    EXPECT_EQ(json["buckets_without_layers"][empty]["bucket"], name);
    EXPECT_NE(text.find("\n  " + name + "\n"), std::string::npos) << name;
    ++empty;
  }
  EXPECT_GT(empty, 20u);
  EXPECT_EQ(json["empty_buckets"], empty);
  EXPECT_EQ(json["buckets_without_layers"].size(), empty);
}

TEST(Verify, CorruptedByteOfATraceIsNamedAndExitsWithFive) {
  const TestFolder folder;
  folder.write("small.yaml", kSmallInt8);
  ASSERT_EQ(run_qsim(folder, "--model small.yaml --dump-layers trace").exit_code, 0);
  ASSERT_EQ(run_qsim(folder, "verify --model trace/").exit_code, 0);
  // One byte of the last layer's ofmap.
  fs::path ofmap;
  for (const auto& entry : fs::directory_iterator(folder / "trace")) {
    if (entry.path().extension() != ".npy") continue;
    if (read_npy(entry.path()).shape == Shape{1, 4, 5, 5}) ofmap = entry.path();
  }
  ASSERT_FALSE(ofmap.empty());
  Tensor tensor = read_npy(ofmap);
  tensor.bytes[(2 * 5 + 3) * 5 + 4] ^= std::byte{1};
  write_npy(ofmap, tensor);
  const Outcome outcome = run_qsim(folder, "verify --model trace/");
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_NE(outcome.out.find("second tile "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("at n 0, y 2, x 3, c 4 expected "), std::string::npos) << outcome.out;
}

TEST(Verify, RecordsOfACifarBatchAreVerifiedOneByOne) {
  const TestFolder folder;
  std::string batch;
  for (int record = 0; record < 3; ++record) {
    batch += static_cast<char>(record);
    for (int i = 0; i < 3072; ++i) batch += static_cast<char>(i * (record + 3) + i / 7);
  }
  folder.write("batch.bin", batch);
  const Outcome outcome = run_qsim(
      folder, "verify --input batch.bin --index 1 --images 2 --engines systemc --json - --quiet");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["engines"][0]["programs"], 2);
  const Outcome beyond = run_qsim(folder, "verify --input batch.bin --index 1 --images 3 --quiet");
  EXPECT_EQ(beyond.exit_code, 3);
  EXPECT_NE(beyond.err.find("records 1 to 3 are wanted; the batch has 3, allowed: 0 to 2"),
            std::string::npos)
      << beyond.err;
}

TEST(Compile, ProgramTextIsInspectedWithoutViolations) {
  const TestFolder folder;
  folder.write("small.yaml", kSmallInt8);
  const std::string file = (source_folder() / "models/vgg8-cifar10/vgg8-int8.onnx").string();
  for (const auto& [model, name] :
       {std::pair(std::string("vgg8-cifar10"), "vgg8-cifar10"), std::pair(file, "vgg8-int8")}) {
    const Outcome named = run_qsim(folder, "compile --model " + model);
    EXPECT_EQ(named.out.substr(0, named.out.find('\n')),
              std::string("program                ") + name);
  }
  const Outcome compiled = run_qsim(folder, "compile --model small.yaml --out small.qprog");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_NE(compiled.out.find("second"), std::string::npos);
  const Outcome text = run_qsim(folder, "compile --model small.yaml --out -");
  EXPECT_EQ(text.out, read_file(folder / "small.qprog"));
  const Outcome inspected = run_qsim(folder, "inspect small.qprog --json -");
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  const Json json = Json::parse(inspected.out);
  EXPECT_EQ(json["kind"], "program");
  EXPECT_EQ(json["violations"], 0);
  EXPECT_EQ(json["layers"].size(), 2u);
  const Outcome commands = run_qsim(folder, "inspect small.qprog --commands");
  EXPECT_NE(commands.out.find("execute wait="), std::string::npos) << commands.out.substr(0, 2000);
}

TEST(Inspect, ProgramThatBreaksARuleExitsWithThree) {
  const TestFolder folder;
  folder.write("small.yaml", kSmallInt8);
  ASSERT_EQ(run_qsim(folder, "compile --model small.yaml --out small.qprog").exit_code, 0);
  std::string text = read_file(folder / "small.qprog");
  // The first EXECUTE no longer waits for anything.
  const std::size_t execute = text.find("execute wait=");
  ASSERT_NE(execute, std::string::npos);
  const std::size_t wait = text.find("wait=", execute);
  text.erase(wait, text.find(' ', wait) + 1 - wait);
  folder.write("broken.qprog", text);
  const Outcome outcome = run_qsim(folder, "inspect broken.qprog");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("(weight_ready) is signalled"), std::string::npos) << outcome.out;
}

TEST(Inspect, SaysWhatEachKindOfFileHolds) {
  const TestFolder folder;
  folder.write("small.yaml", kSmallInt8);
  ASSERT_EQ(run_qsim(folder, "--model small.yaml --dump-layers trace").exit_code, 0);
  const std::pair<const char*, const char*> cases[] = {{"small.yaml", "workload"},
                                                       {"trace", "layer trace"},
                                                       {"pe8x8", "config"},
                                                       {"vgg8", "workload"},
                                                       {"vgg8-cifar10", "ONNX model"}};
  for (const auto& [file, kind] : cases) {
    const Outcome outcome = run_qsim(folder, std::string("inspect --json - ") + file);
    ASSERT_EQ(outcome.exit_code, 0) << file << "\n" << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["kind"], kind) << file;
    EXPECT_EQ(run_qsim(folder, std::string("inspect ") + file).exit_code, 0) << file;
  }
}

TEST(Doctor, FindsTheShippedFiles) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "doctor --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["fine"], true);
  for (const char* key :
       {"version", "commit", "compiler", "systemc", "protobuf", "golden_vector_path",
        "systemc_vector_path", "golden", "cuda_device", "chart_library"}) {
    EXPECT_FALSE(json[key].get<std::string>().empty()) << key;
  }
  const Outcome text = run_qsim(folder, "doctor");
  for (const char* whole :
       {", vgg8, vgg8-cifar10\n", ", tpu128x128\n", "eyeriss-65nm, horowitz-45nm\n"}) {
    EXPECT_NE(text.out.find(whole), std::string::npos) << text.out;
  }
}

TEST(Doctor, ChecksTheVariableOfTheGolden) {
  const TestFolder folder;
  const auto found = [&](const std::string& prefix, int exit_code) {
    const Outcome outcome = run_qsim(folder, "doctor --json -", prefix);
    EXPECT_EQ(outcome.exit_code, exit_code) << prefix;
    const Json json = Json::parse(outcome.out);
    for (const Json& row : json["checks"]) {
      if (row["check"] == "QSIM_GOLDEN") return row["found"].get<std::string>();
    }
    return std::string("no such check");
  };
  EXPECT_EQ(found("env -u QSIM_GOLDEN", 0), "not set, so auto");
  EXPECT_EQ(found("QSIM_GOLDEN=cpu", 0), "cpu");
  EXPECT_EQ(found("CUDA_VISIBLE_DEVICES= QSIM_GOLDEN=cuda", 0).rfind("cuda; the CPU is used: ", 0),
            0u);
  EXPECT_EQ(found("QSIM_GOLDEN=gpu", 3), "QSIM_GOLDEN is 'gpu'; allowed: cpu, cuda, auto");
}

TEST(Doctor, SaysWhenTheFolderCannotBeWritten) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "doctor", "cd /proc &&");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
  EXPECT_NE(outcome.out.find("cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace qsim
