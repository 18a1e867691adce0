// --rounding and --snap: models whose scales are not powers of two; and what `inspect`, `run` and
// `profile` say of layers that the accelerator cannot run.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

// A network that PyTorch quantized: no scale is a power of two.
std::string torch_model(const std::string& name) {
  return (source_folder() / "tests/onnx/producers/torch" / (name + ".onnx")).string();
}

// A picture of the models, as raw numbers.
std::string input_of(const TestFolder& folder, std::size_t elems, const std::string& shape) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (std::size_t i = 0; i < elems; ++i) {
    const float value = 0.01F * static_cast<float>((i * 37 + i / 5) % 211) - 1.0F;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return folder.write("x.npy", bytes);
}

std::set<std::string> roundings(const Json& inspected) {
  std::set<std::string> words;
  for (const Json& layer : inspected["layers"]) words.insert(layer["rounding"]);
  words.erase("-");
  return words;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(Rounding, IsThatOfEveryLayerOfAnOnnxModel) {
  const TestFolder folder;
  const std::string inspect = "inspect " + torch_model("lenet.fx_channel");
  EXPECT_EQ(roundings(quiet_json_of(folder, inspect)), std::set<std::string>{"float32"});
  for (const std::string rounding : {"float32", "half_even", "half_up", "floor"}) {
    EXPECT_EQ(roundings(quiet_json_of(folder, inspect + " --rounding " + rounding)),
              std::set<std::string>{rounding});
  }
  EXPECT_EQ(roundings(quiet_json_of(folder, "inspect vgg8-cifar10 --rounding float32")),
            std::set<std::string>{"float32"});
}

TEST(Rounding, IsInTheResultOfEachCommand) {
  const TestFolder folder;
  const std::string model = " --model " + torch_model("mlp.fx_tensor");
  const std::string given = model + " --rounding half_up --config pe16x16_dyadic";
  const std::string input = " --input " + input_of(folder, 48, "(1, 48)");
  EXPECT_EQ(quiet_json_of(folder, "run" + given + input)["provenance"]["rounding"], "half_up");
  EXPECT_FALSE(quiet_json_of(folder, "run --model vgg8")["provenance"].contains("rounding"));
  EXPECT_EQ(quiet_json_of(folder, "verify" + given + input)["rounding"], "half_up");
  EXPECT_EQ(quiet_json_of(folder, "compile" + given)["rounding"], "half_up");
  EXPECT_EQ(quiet_json_of(folder, "explain" + given)["rounding"], "half_up");
  EXPECT_EQ(quiet_json_of(folder, "export-vectors --out v" + given + input)["rounding"], "half_up");
  EXPECT_EQ(quiet_json_of(folder, "golden run" + given + input)["rounding"], "half_up");
  const std::string tflite = "golden run --backend cpu --rounding tflite" + model + input;
  EXPECT_EQ(quiet_json_of(folder, tflite)["rounding"], "tflite");
  EXPECT_EQ(quiet_json_of(folder, "golden bench --runs 9 --batch 1" + given)["rounding"],
            "half_up");
  EXPECT_EQ(quiet_json_of(folder, "profile --dataflow ws" + given)["provenance"]["rounding"],
            "half_up");
}

TEST(Rounding, IsRefusedWhereTheModelHasItsOwn) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const std::string rounds = " --rounding floor";
  for (const std::string command : {"run --model n.yaml", "verify --model n.yaml", "inspect n.yaml",
                                    "profile --model n.yaml"}) {
    expect_error(folder, command + rounds, 2,
                 "--rounding is for ONNX models; 'n.yaml' is a workload; leave --rounding out");
  }
  expect_error(folder, "inspect pe4x4" + rounds, 2, "'pe4x4' is a config; leave --rounding out");
  expect_error(folder, "verify --seeds 2" + rounds, 2, "leave out --rounding");
  expect_error(folder, "run --rounding half_away", 2, "--rounding");
  expect_error(folder, "golden run --rounding nearest", 2, "--rounding");
}

TEST(Snap, RunsAnyScaleOnShiftsAndSaysWhatItChanges) {
  const TestFolder folder;
  const std::string model = " --model " + torch_model("mlp.fx_channel") + " --input " +
                            input_of(folder, 48, "(1, 48)") + " --config pe4x4";
  expect_error(folder, "run --strict --no-host" + model, 4,
               "' has requantizer: shift, which takes the scales 1, 2^-1 to 2^-31 with floor, "
               "half_even or half_up; take requantizer: dyadic, in a copy of the configuration, or "
               "--snap");
  const Json run = quiet_json_of(folder, "run --snap" + model);
  EXPECT_EQ(run["verify"]["mismatches"], 0);
  const Json& layers = run["snap"]["layers"];
  ASSERT_GE(layers.size(), 3u);
  for (const Json& layer : layers) {
    EXPECT_GE(layer["largest_difference"], layer["mean_difference"]);
    EXPECT_LE(layer["changed"], layer["values"]);
  }
  EXPECT_GT(layers.back()["changed"], 0);
  EXPECT_EQ(run["snap"]["pictures"], 1);
  EXPECT_LE(run["snap"]["top1_changed"], 1);
  const Outcome text = run_qsim(folder, "run --snap" + model);
  EXPECT_NE(text.err.find("note: --snap moves the scales of "), std::string::npos) << text.err;
  EXPECT_NE(text.out.find("\nthe output differs by at most "), std::string::npos) << text.out;
  EXPECT_FALSE(quiet_json_of(folder, "run --snap --no-data" + model).contains("snap"));
}

TEST(Snap, IsTakenByEachCommandThatCompiles) {
  const TestFolder folder;
  const std::string model = torch_model("mlp.fx_channel");
  const std::string snapped = " --snap --config pe4x4 --model " + model;
  const std::string input = " --input " + input_of(folder, 48, "(1, 48)");
  EXPECT_EQ(quiet_json_of(folder, "verify" + snapped + input)["snap"], true);
  EXPECT_EQ(quiet_json_of(folder, "compile" + snapped)["snap"], true);
  EXPECT_EQ(quiet_json_of(folder, "explain" + snapped)["snap"], true);
  EXPECT_EQ(quiet_json_of(folder, "inspect --snap --config pe4x4 " + model)["blocking"], 0);
  EXPECT_EQ(quiet_json_of(folder, "profile --dataflow ws" + snapped)["points"].size(), 1u);
  quiet_json_of(folder, "export-vectors --out v" + snapped + input);
}

// What an error recommends is not refused when it is tried, and is of the user's array.
TEST(Snap, IsRecommendedWhereItHelps) {
  const TestFolder folder;
  const std::string shipped = "; take requantizer: dyadic (--config pe16x16_dyadic)";
  const std::string copy = "; take requantizer: dyadic, in a copy of the configuration";
  const auto recommended = [&](const std::string& arguments) {
    const Outcome outcome = run_qsim(folder, arguments);
    EXPECT_EQ(outcome.exit_code, 4) << arguments;
    const std::string line = outcome.err.substr(0, outcome.err.find('\n'));
    return line.substr(line.find("; take "));
  };
  EXPECT_EQ(recommended("run --no-data --strict --model resnet18"), shipped) << "a workload";
  EXPECT_EQ(recommended("run --no-data --strict --model resnet18 --config tpu128x128"), copy);
  EXPECT_EQ(recommended("run --no-data --strict --no-host --model resnet14-cifar10"), shipped)
      << "it adds";
  EXPECT_EQ(recommended("explain --model resnet14-cifar10 --config pe8x8"), copy);
  const std::string mlp = torch_model("mlp.fx_channel");
  EXPECT_EQ(recommended("compile --model " + mlp), shipped + ", or --snap");
  EXPECT_EQ(run_qsim(folder, "compile --snap --model " + mlp).exit_code, 0);
  folder.write("mine.yaml", "array_rows: 16\narray_cols: 16\nact_slots: 4\n");
  EXPECT_EQ(recommended("compile --config mine.yaml --model " + mlp), copy + ", or --snap");
  const Json profile =
      quiet_json_of(folder, "profile --dataflow ws --config pe16x16,pe16x16_dyadic --model " + mlp);
  EXPECT_TRUE(profile["points"][0]["error"].get<std::string>().find(shipped + ", or --snap") !=
              std::string::npos);
  const Json inspected = quiet_json_of(folder, "inspect --config tpu128x128 resnet18");
  EXPECT_EQ(inspected["blocking_layers"][0]["remedy"], copy.substr(2));
}

TEST(Snap, IsRefusedWhereItMakesNoSense) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  expect_error(folder, "run --snap --model n.yaml", 2,
               "--snap is for ONNX models; 'n.yaml' is a workload; leave --snap out");
  expect_error(folder, "run --snap --config pe16x16_dyadic", 2,
               "--snap is for configurations with requantizer: shift; 'pe16x16_dyadic' has "
               "requantizer: dyadic, which takes every scale; leave --snap out");
  expect_error(folder, "profile --snap --config pe4x4,pe16x16_dyadic", 2, "'pe16x16_dyadic' has");
  expect_error(folder, "run --snap --rounding float32", 2,
               "--snap makes shifts, which do not round as float32; leave --rounding out");
  const Outcome vgg8 = run_qsim(folder, "compile --snap --model vgg8-cifar10");
  EXPECT_EQ(vgg8.exit_code, 0);
  EXPECT_NE(vgg8.err.find("note: --snap moves no scale: all are powers of two"), std::string::npos);
}

TEST(Blocking, InspectListsTheReasonsWithWhichRunRefuses) {
  const TestFolder folder;
  const std::string model = torch_model("residual.fx_tensor");
  const Json inspected = quiet_json_of(folder, "inspect " + model);
  EXPECT_EQ(inspected["accelerator"], "pe16x16");
  const Json& blocking = inspected["blocking_layers"];
  EXPECT_EQ(inspected["blocking"], blocking.size());
  ASSERT_GT(blocking.size(), 5u);
  const Outcome run = run_qsim(folder, "run --no-data --strict --no-host --model " + model);
  EXPECT_EQ(run.exit_code, 4);
  const std::string text = run_qsim(folder, "inspect " + model).out;
  std::string expected = "qsim: error: ";
  for (const Json& each : blocking) {
    expected += std::string(each["reason"]) + "\n";
    EXPECT_NE(text.find(std::string(each["reason"])), std::string::npos) << "whole: " << text;
    EXPECT_EQ(std::string(each["remedy"]).rfind("take requantizer: dyadic", 0), 0u) << each;
  }
  EXPECT_EQ(without_progress(run.err), expected)
      << "each reason on a line, and no empty one at the end";
  EXPECT_EQ(quiet_json_of(folder, "inspect --config pe16x16_dyadic " + model)["blocking"], 0);
  EXPECT_EQ(quiet_json_of(folder, "inspect vgg8")["blocking"], 0);
}

TEST(Blocking, WhatTheImporterRefusesHasNoEmptyLineAtItsEnd) {
  const TestFolder folder;
  std::string model = read_file(source_folder() / "models/vgg8-cifar10/vgg8-int8.onnx");
  for (std::size_t at = model.find("MaxPool"); at != std::string::npos;
       at = model.find("MaxPool", at)) {
    model.replace(at, 7, "MinPool");
  }
  folder.write("model.onnx", model);
  const Outcome run = run_qsim(folder, "inspect --no-host model.onnx");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_GE(lines_of(run.err), 3u);
  EXPECT_EQ(run.err.find("\n\n"), std::string::npos) << run.err;
}

TEST(Host, OptionsAreTakenWhereTheArrayRunsAll) {
  const TestFolder folder;
  const std::string options = " --no-host --strict --as integer";
  for (const std::string command : {"run --model fc", "verify --model fc", "inspect fc"}) {
    EXPECT_EQ(run_qsim(folder, command + options).exit_code, 0) << command;
    expect_error(folder, command + " --as float", 2, "integer");
    expect_error(folder, command + " --no-host --as onnxruntime", 2, "leave --no-host out");
  }
  expect_error(folder, "run --model fc --as onnxruntime", 2, "--as is of ONNX files");
}

TEST(Blocking, ProfileSaysAReasonOnce) {
  const TestFolder folder;
  const std::string model = torch_model("residual.fx_tensor");
  const Outcome all = run_qsim(folder, "profile --quiet --model " + model);
  EXPECT_EQ(all.exit_code, 4);
  EXPECT_EQ(all.out.find("requantizer"), std::string::npos) << all.out;
  EXPECT_EQ(lines_of(all.err), 1u) << all.err;
  EXPECT_NE(all.err.find("more; `qsim inspect` lists them)"), std::string::npos) << all.err;
  const Outcome some =
      run_qsim(folder, "profile --quiet --config pe16x16,pe16x16_dyadic --model " + model);
  EXPECT_EQ(some.exit_code, 0) << some.err;
  const std::size_t first = some.out.find("has requantizer: shift");
  EXPECT_NE(first, std::string::npos) << some.out;
  EXPECT_EQ(some.out.find("has requantizer: shift", first + 1), std::string::npos) << some.out;
  EXPECT_NE(some.out.find("pe16x16, ws and 3 more points: "), std::string::npos) << some.out;
}

TEST(Layers, ABracketOfAPatternIsExplained) {
  const TestFolder folder;
  folder.write("n.yaml",
               "input: {shape: [1, 6, 5, 3]}\nlayers:\n"
               "  - {op: conv2d, name: 'block[1]/a', out_channels: 8, kernel: 3}\n");
  expect_error(folder, "run --model n.yaml --layers 'block[1]/a'", 3,
               "matches no layer of 'n'; [...] matches one of the characters in it, and \\[ a "
               "bracket of a name; its layers: block[1]/a");
  expect_error(folder, "run --model n.yaml --layers other", 3,
               "matches no layer of 'n'; its layers: block[1]/a");
  EXPECT_EQ(run_qsim(folder, "run --model n.yaml --layers 'block\\[1\\]/a'").exit_code, 0);
}

TEST(Layers, AreCalledByOneNameInEveryTable) {
  const TestFolder folder;
  const Outcome run = run_qsim(folder, "run --model vgg8-cifar10 --no-data");
  EXPECT_NE(run.out.find(" conv2d+max_pool "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" fully_connected "), std::string::npos) << run.out;
  EXPECT_NE(run_qsim(folder, "compile --model vgg8-cifar10").out.find(" conv2d+max_pool "),
            std::string::npos);
}

}  // namespace
}  // namespace qsim
