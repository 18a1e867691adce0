// `qsim eval` with the float network and with fake quantization, beside the integers.
#include <algorithm>

#include "tests/cli/eval_fixture.h"

namespace qsim {

using namespace formats;
namespace {

TEST_F(Eval, ComparesTheFloatNetworkAndFakeQuantizationWithTheIntegers) {
  const Json json = eval(
      "--data b.bin --engines golden,systemc,float,fake "
      "--pictures 12 --out o --float " +
      kFloat);
  ASSERT_EQ(json["engines"].size(), 4u);
  ASSERT_EQ(json["pairs"].size(), 6u);
  EXPECT_EQ(json["models"][0]["float"]["name"], kFloat);
  const auto pair = [&](const char* first, const char* second) {
    for (const Json& one : json["pairs"]) {
      if (one["first"]["engine"] == first && one["second"]["engine"] == second) return one;
    }
    return Json();
  };
  EXPECT_EQ(pair("golden", "systemc")["same_bytes"], 12);
  EXPECT_EQ(pair("golden", "systemc")["differing_outputs"], 0);
  EXPECT_EQ(pair("golden", "systemc")["relative_distance"], 0);
  EXPECT_FALSE(pair("golden", "fake").contains("same_bytes"));
  EXPECT_EQ(pair("golden", "fake")["outputs"], 120);
  EXPECT_LT(pair("golden", "fake")["relative_distance"], 0.02);
  const double quantization = pair("golden", "float")["relative_distance"];
  EXPECT_GT(quantization, 0.02) << "levels are no real numbers";
  EXPECT_LT(quantization, 1) << "but near them";
  const Tensor outputs = read_npy(folder_ / "o/outputs.npy");
  EXPECT_EQ(outputs.shape, (Shape{4, 12, 10}));
  const std::span<const float> values = outputs.as<float>();
  const auto best = predictions("o");
  for (std::size_t row = 0; row < 48; ++row) {
    const auto of_row = values.subspan(row * 10, 10);
    EXPECT_EQ(std::max_element(of_row.begin(), of_row.end()) - of_row.begin(), best[row]);
  }
  EXPECT_EQ(json["engines"][2]["pictures"], 12);
}

TEST_F(Eval, TakesAFloatNetworkAsModelAndAgainst) {
  const std::string float_model = "eval --data b.bin --backend cpu --out o --model " + kFloat;
  const Json json = json_of(folder_, float_model);
  ASSERT_EQ(json["engines"].size(), 1u);
  EXPECT_EQ(json["engines"][0]["engine"], "float");
  EXPECT_EQ(json["engines"][0]["backend"], "cpu");
  EXPECT_FALSE(json["engines"][0].contains("stages")) << "threads do them side by side";
  const std::vector<std::int32_t> expected = predictions("o");
  int number = 0;
  for (const char* words : {"--jobs 1", "--batch 3", "--batch 100 --jobs 3"}) {
    const std::string out = "o" + std::to_string(++number);
    json_of(folder_, "eval --data b.bin --out " + out + " --model " + kFloat + " " + words);
    EXPECT_EQ(predictions(out), expected) << words;
    EXPECT_EQ(read_file(folder_ / (out + "/outputs.npy")), read_file(folder_ / "o/outputs.npy"));
  }
  EXPECT_EQ(json_of(folder_, float_model)["engines"][0]["kept_before"], 40);
  const Json both = eval("--data b.bin --engines golden,fake --against " + kFloat);
  ASSERT_EQ(both["engines"].size(), 3u);
  EXPECT_EQ(both["engines"][2]["engine"], "float");
  EXPECT_EQ(both["pairs"].size(), 3u) << "the only engine of a network, with each of the other's";
}

TEST_F(Eval, KeepsThePredictionsOfEachFloatNetworkApart) {
  const auto kept = [&](const std::string& float_model) {
    const Json json =
        eval("--data b.bin --pictures 5 --out o --engines golden,float --float " QSIM_SOURCE_DIR
             "/models/" +
             float_model);
    return std::pair<int, int>(json["engines"][0]["kept_before"],
                               json["engines"][1]["kept_before"]);
  };
  const std::string other = "resnet14-cifar10/resnet14-float.onnx";
  EXPECT_EQ(kept("vgg8-cifar10/vgg8-float.onnx"), std::pair(0, 0));
  EXPECT_EQ(kept(other), std::pair(5, 0));
  const std::string outputs = read_file(folder_ / "o/outputs.npy");
  EXPECT_EQ(kept(other), std::pair(5, 5));
  EXPECT_EQ(read_file(folder_ / "o/outputs.npy"), outputs);
}

TEST_F(Eval, RefusesEnginesThatANetworkCannotHave) {
  const std::string float_model = "--data b.bin --model " + kFloat + " ";
  refused("--data b.bin --engines float", 2,
          "--engines float: 'vgg8-cifar10' is a quantized network; name the float one by --float");
  refused(float_model + "--engines golden", 2, "is a float network, whose only engine is float");
  refused(float_model + "--float " + kFloat, 2, "is a float network itself; leave --float out");
  refused(float_model + "--rounding floor", 2, "--rounding is of quantized networks");
  refused("--data b.bin --engines golden --float " + kFloat, 2,
          "--float is of the engine float, which --engines leaves out");
  refused("--data b.bin --float none.onnx", 3, "none.onnx");
  refused("--data b.bin --float b.bin", 3, "b.bin");
  refused("--data b.bin --float " QSIM_SOURCE_DIR "/models/vgg8-cifar10/vgg8-int8.onnx", 4, "");
  write_npy(folder_ / "p.npy", Tensor(DType::kFloat32, {1, 6, 5, 3}));
  folder_.write("small.yaml", kSmall);
  refused("--data p.npy --model small.yaml --float " + kFloat, 3,
          "the network takes [1, 32, 32, 3] and has 10 classes; ");
}

}  // namespace
}  // namespace qsim
