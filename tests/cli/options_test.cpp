// Every option of every command in its good form, and a wrong value of each that takes one. What is
// run here is recorded: tests/system/meta/provoked.py compares the record with `--help`.
#include <gtest/gtest.h>

#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kSmallWithFlatten =
    "name: small\nseed: 11\ninput: {shape: [1, 6, 5, 3], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: flatten, name: flat}\n"
    "  - {op: fully_connected, name: last, out_features: 7}\n";

// Two records of CIFAR-10's format, whose pictures differ.
std::string two_records() {
  std::string batch;
  for (const std::size_t record : {std::size_t{3}, std::size_t{5}}) {
    batch += static_cast<char>(record);
    for (std::size_t i = 0; i < 3072; ++i) batch += static_cast<char>(i * record + i / 7);
  }
  return batch;
}

class EveryOption : public ::testing::Test {
 protected:
  EveryOption() {
    folder_.write("n.yaml", kSmallWithFlatten);
    folder_.write("b.bin", two_records());
  }

  void expect_taken(const std::string& arguments) {
    const Outcome outcome = run_qsim(folder_, arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  }
  void expect_refused(const std::string& arguments, const std::string& option) {
    const Outcome outcome = run_qsim(folder_, arguments + " " + option);
    EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == 3) << arguments << " " << option;
    EXPECT_EQ(outcome.out, "") << arguments << " " << option;
    EXPECT_EQ(outcome.err.rfind("qsim: error: ", 0), 0u) << outcome.err;
  }

  TestFolder folder_;
};

TEST_F(EveryOption, OfRunIsTaken) {
  expect_taken("run --model n.yaml --batch 2 --seed 3 --engine interpreter");
  expect_taken("run --input b.bin --index 1 --layers fc3 --out kept");
}

TEST_F(EveryOption, OfVerifyIsTaken) {
  expect_taken("verify --model n.yaml --batch 2 --seed 18446744073709551615");
  expect_taken("verify --input b.bin --index 0 --images 2 --engines systemc --golden cpu");
  expect_taken("verify --model n.yaml --layers last --json v.json --quiet --config pe4x4");
  expect_taken("verify --seeds 3 --all-configs");
}

TEST_F(EveryOption, OfCompileExplainAndInspectIsTaken) {
  expect_taken(
      "compile --config pe4x4 --model n.yaml --batch 2 --json c.json --quiet "
      "--out n.qprog");
  expect_taken(
      "explain --config pe4x4 --model n.yaml --batch 2 --layer last --json x.json --quiet");
  expect_taken("inspect n.qprog --commands --json i.json --quiet --config pe4x4");
}

TEST_F(EveryOption, OfExportVectorsIsTaken) {
  expect_taken("export-vectors --version");
  expect_taken("explain --version");
  expect_taken(
      "export-vectors --config pe4x4 --model n.yaml --batch 2 --seed 9 --layers last "
      "--json e.json --quiet --out v");
  expect_taken("export-vectors --input b.bin --index 1 --layers fc3 --out w");
}

TEST_F(EveryOption, OfGoldenIsTaken) {
  expect_taken("golden run --config pe4x4 --input b.bin --index 1 --images 1 --batch 2 --out g");
  expect_taken("golden bench --config pe4x4 --model n.yaml --seed 5 --runs 9 --batch 2");
}

TEST_F(EveryOption, WithAWrongValueIsRefused) {
  const std::string configs_and_json[] = {
      "run",         "verify",     "compile",      "explain", "inspect vgg8",
      "golden info", "golden run", "golden bench", "doctor",  "export-vectors --out v"};
  for (const std::string& command : configs_and_json) {
    expect_refused(command, "--config no-such");
    expect_refused(command, "--json none/there.json");
  }
  for (const char* command : {"run", "verify", "compile", "explain", "export-vectors --out v"}) {
    expect_refused(command, "--model no-such");
    expect_refused(command, "--batch 0");
  }
  for (const char* command : {"run", "verify", "export-vectors --out v"}) {
    expect_refused(command, "--input no-such");
    expect_refused(command, "--index -1");
    expect_refused(command, "--layers no-such");
    expect_refused(command, "--seed x");
  }
  for (const char* option : {"--model no-such", "--input no-such", "--index -1", "--images 0",
                             "--batch 0", "--backend x", "--out b.bin"}) {
    expect_refused("golden run", option);
  }
  for (const char* option :
       {"--model no-such", "--batch 0", "--runs 8", "--seed x", "--backend x"}) {
    expect_refused("golden bench", option);
  }
  for (const char* command : {"run", "verify", "compile", "explain", "profile", "inspect vgg8",
                              "golden run", "golden bench", "export-vectors --out v"}) {
    expect_refused(command, "--rounding nearest");
  }
  for (const char* option : {"--engines x", "--golden x", "--images 0", "--seeds 0"}) {
    expect_refused("verify", option);
  }
  expect_refused("run --engine rtl", "--trace none/there.fst");
  expect_refused("run --engine rtl --trace t.fst", "--trace-window 5:5");
  expect_refused("run", "--dump-layers b.bin");
  expect_refused("compile", "--out none/there.qprog");
}

TEST_F(EveryOption, OfAHostAndSetIsTakenAndRefused) {
  const std::string model = " --model n.yaml --set array_rows=8";
  for (const char* command :
       {"run --no-data", "verify", "compile", "explain", "golden run", "export-vectors --out x"}) {
    expect_taken(command + model);
    expect_refused(command + model, "--set array_rows=9");
  }
  expect_taken("inspect n.yaml --set array_rows=8");
  expect_refused("inspect n.yaml", "--set array_row=8");
  expect_error(folder_, "verify --seeds 1 --all-configs --set array_rows=8", 2,
               "--all-configs takes configurations as they are; leave out --set");
  const std::string eval = "eval --data b.bin --pictures 1 --model resnet14-cifar10";
  expect_taken(eval + " --set act_slots=4 --strict --as integer");
  expect_taken(eval + " --no-host");
  expect_refused(eval, "--set act_slots=3");
  expect_refused(eval, "--as float");
  const std::string golden = "golden run --input b.bin --images 1";
  expect_taken(golden + " --strict --as integer");
  expect_taken(golden + " --no-host");
  expect_refused(golden, "--as float");
}

TEST_F(EveryOption, ThatExcludesAnotherSaysSo) {
  expect_error(folder_, "verify --seeds 2 --all-configs --config pe4x4", 2,
               "--all-configs takes every shipped configuration; leave out --config");
  expect_error(folder_, "verify --input b.bin --images 2 --layers fc3", 2,
               "--layers compares one batch; --images 2 is more than --batch 1");
  expect_taken("run --model n.yaml --dump-layers trace --quiet");
  expect_error(folder_, "run --model trace --batch 2", 2, "--batch 2: the layer trace ");
}

TEST_F(EveryOption, AModelThatHasNoKnownNameIsRefused) {
  folder_.write("model.txt", "x");
  expect_error(folder_, "run --model ./model.txt", 3,
               "./model.txt: is not the name of a model; expected an ONNX file (.onnx), a workload "
               "(.yaml), a SCALE-Sim topology (.csv) or a layer-trace folder");
  expect_error(folder_, "run --model /dev/zero", 3, "/dev/zero: is a device; expected a file");
}

TEST_F(EveryOption, AnArrayThatDoesNotFitTheModelSaysWhichDoes) {
  write_npy(folder_ / "two.npy", Tensor(DType::kUint8, {2, 6, 5, 3}));
  expect_error(folder_, "run --model n.yaml --input two.npy", 3,
               "two.npy: shape [2, 6, 5, 3]; the model takes [1, 6, 5, 3] (NHWC); --batch 2 runs "
               "that many at a time");
  write_npy(folder_ / "wide.npy", Tensor(DType::kInt32, {1, 6, 5, 3}));
  expect_error(folder_, "run --model n.yaml --input wide.npy", 3,
               "wide.npy: dtype int32; the model takes float32 or uint8");
}

}  // namespace
}  // namespace qsim
