// `qsim golden abc`: errors of weights, a convolution of files, times, and what it refuses.
#include <cmath>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "formats/traces/npy.h"
#include "golden/device/devices.h"
#include "tests/cli/golden_command.h"

namespace qsim {

using namespace formats;
namespace {

// Recorded errors have five digits after the point; the program's floating point may move the next.
constexpr double kLastDigit = 0.5e-5;

// Numbers whose share of +1 and -1 is uneven, so that no error is 0.
Tensor random_array(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.as<float>()) {
    const double unit = static_cast<double>(random.uniform(-1000, 1000)) / 1000;
    value = static_cast<float>(unit * unit * unit + 0.1);
  }
  return tensor;
}

class GoldenAbc : public testing::Test {
 protected:
  GoldenAbc() {
    write_npy(folder_ / "w.npy", random_array({12, 10, 3, 3}, 1));
    write_npy(folder_ / "x.npy", random_array({2, 10, 9, 8}, 2));
  }

  TestFolder folder_;
};

TEST_F(GoldenAbc, GivesTheErrorOfEveryLayerOfANetworkForOneToEightBases) {
  folder_.write("small.yaml", kSmall);
  const Json json = json_of(folder_, "golden abc --model small.yaml");
  EXPECT_EQ(json["schema"], "qsim.golden-abc/1");
  ASSERT_EQ(json["errors"].size(), 2U);  // the flatten has no weights
  EXPECT_EQ(json["errors"][0]["layer"], "first");
  EXPECT_EQ(json["errors"][0]["weights"], 8 * 27);
  EXPECT_EQ(json["errors"][1]["weights"], 7 * 240);
  for (const Json& row : json["errors"]) {
    EXPECT_GT(row["m1"].get<double>(), row["m3"].get<double>());
    EXPECT_GT(row["m3"].get<double>(), row["m8"].get<double>());
    EXPECT_GT(row["m8"].get<double>(), 0);
    EXPECT_LT(row["m1"].get<double>(), 1);
  }
}

TEST_F(GoldenAbc, FittedThresholdsAndAlphasOfChannelsLoseLess) {
  const auto error = [&](const std::string& options) {
    const Json json = json_of(folder_, "golden abc --weights w.npy " + options);
    return json["errors"][0]["m3"].get<double>();
  };
  EXPECT_LT(error("--alphas layer --thresholds fitted"), error("--alphas layer"));
  EXPECT_NE(error("--alphas channel"), error("--alphas layer --thresholds even"));
}

TEST_F(GoldenAbc, ConvolvesAFileAndMoreBasesAreNearerToTheFloatLayer) {
  double last = 1;
  for (const char* bases : {"1", "3", "8"}) {
    const Json json = json_of(folder_,
                              "golden abc --weights w.npy --input x.npy --pad 1 --stride 2 --out o "
                              "--thresholds fitted --bases " +
                                  std::string(bases) + " --activation-bases " + bases);
    EXPECT_EQ(json["bases"], std::stoi(bases));
    EXPECT_LT(json["output_error"].get<double>(), last);
    EXPECT_GT(json["activation_error"].get<double>(), 0);
    last = json["output_error"].get<double>();
  }
  EXPECT_NEAR(last, 0.02968, kLastDigit);
  EXPECT_EQ(read_npy(folder_ / "o/output.npy").shape, (Shape{2, 12, 5, 4}));
}

// One base, one channel, and a 1x1 kernel: y = alpha * beta * sign by hand.
TEST_F(GoldenAbc, WritesWhatTheDefinitionSays) {
  write_npy(folder_ / "w1.npy", make_tensor<float>({2, 1, 1, 1}, std::vector<float>{3, -5}));
  write_npy(folder_ / "x1.npy", make_tensor<float>({1, 1, 1, 4}, std::vector<float>{2, -2, -6, 6}));
  json_of(folder_,
          "golden abc --weights w1.npy --input x1.npy --out o --bases 1 "
          "--activation-bases 1 --alphas channel");
  const Tensor y = read_npy(folder_ / "o/output.npy");
  ASSERT_EQ(y.shape, (Shape{1, 2, 1, 4}));
  // A channel of one weight is at its own mean, so +1: alpha is the weight. beta is the mean of
  // |x|.
  const std::vector<float> expected = {12, -12, -12, 12, -20, 20, 20, -20};
  EXPECT_EQ(std::vector<float>(y.as<float>().begin(), y.as<float>().end()), expected);
}

TEST_F(GoldenAbc, TimesTheLayerBesideFloatAndInt8) {
  const Json json = json_of(folder_,
                            "golden abc --weights w.npy --pad 1 --sizes 8,16 --runs 9 --batch 2 "
                            "--backend cpu --seed 3");
  ASSERT_EQ(json["times"].size(), 2U);
  for (const Json& row : json["times"]) {
    for (const char* key :
         {"binary_seconds", "float_seconds", "int8_seconds", "of_float", "of_int8"}) {
      EXPECT_GT(row[key].get<double>(), 0) << key;
    }
  }
  EXPECT_EQ(json["times"][1]["size"], 16);
  const Outcome text =
      run_qsim(folder_, "golden abc --model conv_odd --sizes 8 --runs 9 --backend cpu");
  EXPECT_NE(text.out.find("binary seconds"), std::string::npos) << text.out;
}

TEST_F(GoldenAbc, ReadsTheWeightsOfAFloatNetworkAndOfOneOfItsLayers) {
  const std::string file =
      (source_folder() / "models/resnet14-cifar10/resnet14-float.onnx").string();
  const Json all = json_of(folder_, "golden abc --weights " + file);
  ASSERT_EQ(all["errors"].size(), 16U);
  EXPECT_EQ(all["errors"][0]["layer"], "stem");
  EXPECT_EQ(all["errors"][0]["weights"], 32 * 27);
  EXPECT_EQ(all["errors"][15]["layer"], "fc");
  EXPECT_EQ(all["errors"][15]["weights"], 1280);
  const Json one = json_of(folder_, "golden abc --weights " + file + " --layer block3_shortcut");
  ASSERT_EQ(one["errors"].size(), 1U);
  EXPECT_EQ(one["errors"][0], all["errors"][7]);
  EXPECT_EQ(one["errors"][0]["weights"], 64 * 32);
  // The int8 network's are codes of channels with scales of their own, so its error is another one.
  const Json int8 = json_of(folder_, "golden abc --model resnet14-cifar10");
  EXPECT_NEAR(all["errors"][0]["m3"].get<double>(), 0.11313, kLastDigit);
  EXPECT_NEAR(int8["errors"][0]["m3"].get<double>(), 0.09766, kLastDigit);
}

TEST_F(GoldenAbc, ConvolvesALayerOfAFloatNetwork) {
  write_npy(folder_ / "stem.npy", random_array({1, 3, 8, 8}, 5));
  const std::string file =
      (source_folder() / "models/resnet14-cifar10/resnet14-float.onnx").string();
  const Json json = json_of(folder_, "golden abc --weights " + file +
                                         " --layer stem --input stem.npy --pad 1 --bases 8 "
                                         "--activation-bases 8 --thresholds fitted --out o");
  EXPECT_NEAR(json["output_error"].get<double>(), 0.07082, kLastDigit);
  EXPECT_EQ(read_npy(folder_ / "o/output.npy").shape, (Shape{1, 32, 8, 8}));
}

TEST_F(GoldenAbc, FitsActivationsOfNormalNumbersAndOfBlocksOfTheInput) {
  const Json normal = json_of(folder_, "golden abc --weights w.npy --fit-activations --seed 1");
  ASSERT_EQ(normal["activations"].size(), 8U);
  double last = 1;
  for (const Json& row : normal["activations"]) {
    const auto error = row["error"].get<double>();
    EXPECT_LT(error, last);
    last = error;
    std::istringstream v(row["v"].get<std::string>());
    std::istringstream beta(row["beta"].get<std::string>());
    EXPECT_EQ(std::distance(std::istream_iterator<float>(v), {}), row["bases"]);
    EXPECT_EQ(std::distance(std::istream_iterator<float>(beta), {}), row["bases"]);
  }
  EXPECT_NEAR(last, 0.01042, kLastDigit);
  // 0, 1, 2 and 3 are 1.5 and three steps of 1: four bases.
  Tensor levels(DType::kFloat32, {1, 4, 20, 20});
  std::int64_t at = 0;
  for (float& value : levels.as<float>()) value = static_cast<float>(at++ % 4);
  write_npy(folder_ / "levels.npy", levels);
  write_npy(folder_ / "w4.npy", random_array({2, 4, 1, 1}, 6));
  const Json fitted =
      json_of(folder_, "golden abc --weights w4.npy --input levels.npy --fit-activations");
  EXPECT_GT(fitted["activations"][0]["error"].get<double>(), 0.05);
  EXPECT_LT(fitted["activations"][3]["error"].get<double>(), 1e-6);
}

TEST_F(GoldenAbc, RefusesAGpuThatIsNotThereAndLayersThatAreNotThere) {
  const std::string file =
      (source_folder() / "models/resnet14-cifar10/resnet14-float.onnx").string();
  if (golden::cuda_status().usable()) {
    const Json json =
        json_of(folder_, "golden abc --weights w.npy --sizes 8 --runs 9 --backend cuda");
    EXPECT_EQ(json["gpu_times"][0]["equals_cpu"], true);
  } else {
    expect_error(folder_, "golden abc --weights w.npy --sizes 8 --backend cuda", 3,
                 "--backend cuda: no GPU can be used");
  }
  expect_error(
      folder_, "golden abc --weights " + file + " --layer none", 3,
      "--layer 'none' has no float weights in " + file + "; these have: stem, block1_conv1");
  expect_error(folder_, "golden abc --layer stem", 2,
               "--layer of golden abc chooses among float weights; add --weights FILE.onnx");
  expect_error(folder_, "golden abc --weights " + file + " --input x.npy", 2,
               "--input of golden abc goes through one layer of the network; add --layer");
  const std::string int8 =
      (source_folder() / "models/resnet14-cifar10/resnet14-int8.onnx").string();
  expect_error(folder_, "golden abc --weights " + int8, 4,
               "no Conv of one group, Gemm or MatMul whose weights are float32 constants");
  expect_error(folder_, "golden abc --weights none.onnx", 3, "none.onnx");
}

TEST_F(GoldenAbc, RefusesOptionsThatMissOneAnother) {
  expect_error(folder_, "golden abc --weights w.npy --model vgg8", 2,
               "--weights and --model both name weights; leave one of them out");
  expect_error(folder_, "golden abc --input x.npy", 2,
               "--input of golden abc needs the layer that it goes through; add --weights");
  expect_error(folder_, "golden abc --weights w.npy --out o", 2,
               "--out of golden abc writes the convolution of --input; add --input");
  expect_error(folder_, "golden abc --bases 9", 2, "--bases: found '9'; allowed: 1 to 8");
  expect_error(folder_, "golden abc --sizes 7", 2, "--sizes");
  expect_error(folder_, "golden abc --weights w.npy --json w.npy", 2,
               "--json would overwrite 'w.npy', the weights of this run");
  expect_error(folder_, "golden abc --weights w.npy --input x.npy --json x.npy", 2,
               "--json would overwrite 'x.npy', the input of this run");
}

TEST_F(GoldenAbc, RefusesAWrongValueOfEachOption) {
  folder_.write("small.yaml", kSmall);
  EXPECT_EQ(run_qsim(folder_, "golden abc --config pe4x4 --model small.yaml").exit_code, 0);
  for (const char* option :
       {"--config no-such", "--model no-such", "--bases 0", "--activation-bases 9", "--alphas row",
        "--thresholds best", "--stride 0", "--pad -1", "--runs 8", "--seed x", "--batch 0",
        "--backend gpu"}) {
    const Outcome outcome = run_qsim(folder_, std::string("golden abc ") + option);
    EXPECT_TRUE(outcome.exit_code == 2 || outcome.exit_code == 3) << option;
    EXPECT_EQ(outcome.out, "") << option;
  }
}

TEST_F(GoldenAbc, RefusesArraysOfOtherTypesAndShapes) {
  write_npy(folder_ / "tiny.npy", random_array({1, 10, 2, 9}, 3));
  expect_error(folder_, "golden abc --weights w.npy --input tiny.npy", 3,
               "the kernel spans 3 pixels, and there are 2 with the pads");
  write_npy(folder_ / "flat.npy", random_array({12, 90}, 3));
  write_npy(folder_ / "none.npy", Tensor(DType::kFloat32, {1, 0, 2, 2}));
  write_npy(folder_ / "thin.npy", random_array({2, 9, 9, 8}, 3));
  expect_error(folder_, "golden abc --weights flat.npy", 3,
               "flat.npy: found float32 [12, 90]; expected float32 [out_channels, channels, "
               "kernel_h, kernel_w], each at least 1");
  expect_error(folder_, "golden abc --weights w.npy --input none.npy", 3,
               "none.npy: found float32 [1, 0, 2, 2]; expected float32 [batch, channels, height, "
               "width], each at least 1");
  expect_error(folder_, "golden abc --weights w.npy --input thin.npy", 3,
               "the weights have 10 channels and the input 9; they must be equal");
  expect_error(folder_, "golden abc --model maxpool_alone", 3,
               "no convolution without groups and no fully connected layer");
}

}  // namespace
}  // namespace qsim
