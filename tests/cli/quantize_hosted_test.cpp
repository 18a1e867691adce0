// `qsim quantize` of float networks that the array runs in parts: what it writes and tells, which
// options it refuses, and that `qsim run` takes the command that it names.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/onnx/exporter/host_exporter.h"
#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"
#include "tests/quantize/hosted/float_network.h"

namespace qsim {
namespace {

using nlohmann::json;
using quantize::FloatNetwork;

void write_model(const TestFolder& folder, FloatNetwork& net,
                 const std::vector<HostValueId>& outputs, const std::vector<Tensor>& shapes = {}) {
  for (const HostValueId id : outputs) net.output(id);
  golden::fold_and_shape(net.network);
  std::vector<Tensor> ends = shapes;
  if (ends.empty()) {
    for (const HostValueId id : outputs) ends.push_back(net.array(id).tensor);
  }
  folder.write("net.onnx", formats::onnx_bytes(net.network, ends));
}

// SiLU and a Softmax in the middle; pictures of 3 x 6 x 6.
void write_network(const TestFolder& folder, const char* input = "pictures.npy") {
  FloatNetwork net;
  const HostValueId x = net.silu(net.norm(net.conv(net.picture(), 3, 4), 4));
  const HostValueId y = net.conv(net.add("Softmax", {x}, {{"axis", golden::Int{1}}}), 4, 4);
  write_model(folder, net, {net.add("GlobalAveragePool", {y})});
  formats::write_npy(folder / input, net.reals({8, 3, 6, 6}));
  formats::write_npy(folder / "one.npy", net.reals({1, 3, 6, 6}));
}

std::string quantize(const std::string& options = "") {
  return "quantize net.onnx --calibrate pictures.npy -o out.onnx " + options;
}

TEST(QuantizeHosted, WritesWhatRunTakesByTheCommandThatItNames) {
  const TestFolder folder;
  write_network(folder);
  const Outcome outcome = run_qsim(folder, quantize("--json out.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("on pe16x16_dyadic `qsim run` runs "), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("1 Softmax"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.out.ends_with(
      "\nnext: qsim run --config pe16x16_dyadic --model out.onnx --input INPUT.npy\n"))
      << outcome.out;
  const json document = json::parse(read_file(folder / "out.json"));
  EXPECT_EQ(document["schema"], "qsim.quantize-host/1");
  EXPECT_EQ(document["pictures"], 8);
  EXPECT_EQ(document["quantized_bytes"], read_file(folder / "out.onnx").size());
  EXPECT_EQ(document["float_bytes"], read_file(folder / "net.onnx").size());
  EXPECT_GT(std::stod(std::string(document["output_sqnr_db"])), 20);
  EXPECT_EQ(document["tensors"][0]["op"], "input");
  EXPECT_GT(document["macs_on_the_array"], 0);
  const Outcome run = run_qsim(
      folder, "run --config pe16x16_dyadic --model out.onnx --input one.npy --json run.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json report = json::parse(read_file(folder / "run.json"));
  EXPECT_EQ(report["host"]["parts"], document["array_parts"]);
  std::int64_t operations = 0;
  for (const json& row : document["on_the_host"]) operations += std::int64_t{row["operations"]};
  EXPECT_EQ(operations, document["operations_on_the_host"]);
}

TEST(QuantizeHosted, ANetworkThatTheArrayRunsAloneNamesItsCommandToo) {
  const TestFolder folder;
  const std::string vgg = (source_folder() / "tests/onnx/producers/torch/vgg.float.onnx").string();
  FloatNetwork net;
  formats::write_npy(folder / "pictures.npy", net.reals({4, 3, 16, 16}));
  const Outcome outcome =
      run_qsim(folder, "quantize " + vgg + " --calibrate pictures.npy -o out.onnx");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.ends_with(
      "next: qsim run --config pe16x16_dyadic --model out.onnx --input INPUT.npy\n"))
      << outcome.out;
}

TEST(QuantizeHosted, TakesPicturesByTheSidecarAndSoDoesRun) {
  const TestFolder folder;
  write_network(folder);
  folder.write("net.yaml",
               "preprocess: {resize: [6, 6], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n");
  const std::string picture = (source_folder() / "models/pictures/chelsea-32x32.png").string();
  const std::string pictures = (source_folder() / "models/pictures").string();
  const Outcome outcome = run_qsim(folder, "quantize net.onnx --calibrate " + pictures +
                                               " -o out.onnx --config pe16x16 --quiet");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(
      outcome.out.ends_with("next: qsim run --config pe16x16 --model out.onnx --input PICTURE\n"))
      << outcome.out;
  const Outcome run = run_qsim(
      folder, "run --config pe16x16 --model out.onnx --input " + picture + " --out result");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(formats::read_npy(folder / "result/output.npy").shape, (Shape{1, 4, 1, 1}));
  std::filesystem::remove(folder / "out.yaml");
  expect_error(folder, "run --config pe16x16_dyadic --model out.onnx --input " + picture, 3,
               "does not say how a picture becomes it");
}

TEST(QuantizeHosted, RefusesOptionsOfNetworksThatTheArrayRunsAlone) {
  const TestFolder folder;
  write_network(folder);
  folder.write("scales.json", "{}");
  for (const std::string option :
       {"--form qoperator", "--weight-rounding gptq", "--bias-correction", "--equalize",
        "--mixed-precision mse", "--scales scales.json", "--report out.html"}) {
    const std::string name =
        option.starts_with("--form") ? option : option.substr(0, option.find(' '));
    expect_error(folder, quantize(option), 2,
                 name +
                     " is of networks that the array runs alone; leave it out, or take a "
                     "network without what the array lacks: ");
    EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx")) << option;
  }
}

TEST(QuantizeHosted, OptionsGiveOtherNetworks) {
  const TestFolder folder;
  write_network(folder);
  folder.write("layers.yaml", "layers:\n  - {name: 'Conv*', weight_bits: 5}\n");
  std::set<std::string> files;
  const std::vector<std::string> options = {"",
                                            "--scale-kind dyadic",
                                            "--scale-kind power_of_two",
                                            "--activations s8",
                                            "--activation-bits 6",
                                            "--symmetry symmetric",
                                            "--clipping min_max",
                                            "--weight-symmetry affine",
                                            "--granularity tensor",
                                            "--weight-bits 6",
                                            "--weight-levels log2 --weight-bits 4",
                                            "--layers layers.yaml",
                                            "--pictures 4"};
  for (const std::string& option : options) {
    const Outcome outcome = run_qsim(folder, quantize(option));
    ASSERT_EQ(outcome.exit_code, 0) << option << ": " << outcome.err;
    EXPECT_TRUE(files.insert(read_file(folder / "out.onnx")).second) << option;
  }
  const Outcome same = run_qsim(folder, quantize("--form qdq --threads 3"));
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_FALSE(files.insert(read_file(folder / "out.onnx")).second);
}

TEST(QuantizeHosted, TakesAFolderOfArraysForSeveralInputs) {
  const TestFolder folder;
  FloatNetwork net;
  const HostValueId a = net.picture();
  const HostValueId b = net.picture();
  write_model(folder, net, {net.add("Sub", {net.silu(net.conv(a, 3, 4)), net.conv(b, 3, 4)})});
  const std::string first = net.network.values[a].name;
  const std::string second = net.network.values[b].name;
  std::filesystem::create_directory(folder / "data");
  formats::write_npy(folder / "data" / (first + ".npy"), net.reals({6, 3, 6, 6}));
  formats::write_npy(folder / "data" / (second + ".npy"), net.reals({1, 3, 6, 6}));
  const std::string command = "quantize net.onnx --calibrate data -o out.onnx";
  const Outcome outcome = run_qsim(folder, command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.ends_with("--input FOLDER\n")) << outcome.out;
  expect_error(folder, "quantize net.onnx --calibrate data/" + first + ".npy -o out.onnx", 3,
               "the network has the inputs " + first);
  formats::write_npy(folder / "data" / (second + ".npy"), net.reals({4, 3, 6, 6}));
  expect_error(folder, command, 3, "has 4 samples, another input 6; expected as many for all");
}

TEST(QuantizeHosted, RefusesSamplesThatDoNotFit) {
  const TestFolder folder;
  write_network(folder);
  expect_error(folder, "quantize net.onnx --calibrate absent -o out.onnx", 3,
               "absent: there is no such file or folder");
  formats::write_npy(folder / "pictures.npy", Tensor(DType::kFloat32, {8, 3, 7, 6}));
  expect_error(folder, quantize(), 3, "is float32 [8, 3, 7, 6]; expected float32 [1, 3, 6, 6]");
  formats::write_npy(folder / "pictures.npy", Tensor(DType::kFloat32, {8, 3, 6, 6}));
  expect_error(folder, quantize(), 3, "the calibration pictures have one value alone, 0.000000");
  const std::string pictures = (source_folder() / "models/pictures").string();
  expect_error(folder, "quantize net.onnx --calibrate " + pictures + " -o out.onnx", 3,
               "does not say how a picture becomes its input");
}

TEST(QuantizeHosted, RefusesPicturesForOtherInputs) {
  const TestFolder folder;
  FloatNetwork net;
  write_model(folder, net,
              {net.add("Softmax", {net.add("MatMul", {net.add("Tanh", {net.picture({1, 4, 8})}),
                                                      net.weights({8, 5})})})});
  const std::string pictures = (source_folder() / "models/pictures").string();
  expect_error(folder, "quantize net.onnx --calibrate " + pictures + " -o out.onnx", 3,
               "is float32 [1, 4, 8], no pictures of 3 channels; expected a .npy of samples of it");
}

TEST(QuantizeHosted, RefusesFewerPicturesThanTheBatch) {
  const TestFolder folder;
  FloatNetwork net;
  write_model(folder, net, {net.silu(net.conv(net.picture({9, 3, 6, 6}), 3, 4))});
  folder.write("net.yaml",
               "preprocess: {resize: [6, 6], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n");
  const std::string picture = (source_folder() / "models/pictures/chelsea-32x32.png").string();
  expect_error(folder, "quantize net.onnx --calibrate " + picture + " -o out.onnx", 3,
               "1 pictures; expected at least 9, the batch of the network");
}

TEST(QuantizeHosted, RefusesANetworkWithNothingToQuantize) {
  const TestFolder folder;
  FloatNetwork net;
  write_model(folder, net, {net.add("Softmax", {net.add("Tanh", {net.picture()})})});
  formats::write_npy(folder / "pictures.npy", net.reals({2, 3, 6, 6}));
  expect_error(
      folder, quantize(), 4,
      "nothing to quantize: no convolution, product, sum or average pool of float32 tensors");
}

TEST(QuantizeHosted, RefusesAQuantizedNetworkAndAnOperatorThatTheHostLacks) {
  const TestFolder folder;
  write_network(folder);
  ASSERT_EQ(run_qsim(folder, quantize()).exit_code, 0);
  expect_error(folder, "quantize out.onnx --calibrate pictures.npy -o again.onnx", 4,
               "the model is quantized already");
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  net.network.values[net.add("NoSuchOperator", {x})].array = net.array(x);
  net.output(net.network.nodes.back().outputs[0]);
  folder.write("net.onnx", formats::onnx_bytes(net.network, {net.reals({1, 4, 6, 6})}));
  expect_error(folder, quantize(), 4, "NoSuchOperator");
}

TEST(QuantizeHosted, SaysWhichSizesAreOpen) {
  const TestFolder folder;
  FloatNetwork net;
  const HostValueId x = net.input(DType::kFloat32);
  net.network.values[x].array.tensor.shape = {1, 3, 6, 6};
  const HostValueId y = net.silu(net.conv(x, 3, 4));
  for (const HostValueId id : {y}) net.output(id);
  std::string bytes = formats::onnx_bytes(net.network, {net.reals({1, 4, 6, 6})});
  folder.write("net.onnx", bytes);
  folder.write("net.yaml",
               "preprocess: {resize: [6, 6], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n");
  const std::string pictures = (source_folder() / "models/pictures").string();
  expect_error(folder, "quantize net.onnx --calibrate " + pictures + " -o out.onnx", 3,
               "has dimensions without a number; expected samples as .npy, which have them");
  formats::write_npy(folder / "pictures.npy", net.reals({4, 3, 6, 6}));
  EXPECT_EQ(run_qsim(folder, quantize()).exit_code, 0);
}

}  // namespace
}  // namespace qsim
