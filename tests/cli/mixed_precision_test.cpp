// `qsim quantize --mixed-precision`: the file has the accuracy that the search says, and what it
// refuses.
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/real/real_executor.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

using nlohmann::json;

constexpr std::int64_t kSize = 16;  // of the network's pictures
// So small that the answers of an untrained network follow from the pictures, not from its biases.
constexpr float kStd = 0.01F;
constexpr std::size_t kPlane = 32 * 32;
constexpr int kPictures = 100;

// Planes of 32 x 32 of blocks of 8 x 8, so that 16 x 16 are left without an average.
std::string blocks(Random& random) {
  std::string planes(3 * kPlane, '\0');
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::size_t y = i % kPlane / 32;
    const std::size_t x = i % 32;
    if (y % 8 == 0 && x % 8 == 0) {
      planes[i] = static_cast<char>(random.uniform(0, 255));
    } else {
      planes[i] = planes[y % 8 != 0 ? i - 32 : i - 1];
    }
  }
  return planes;
}

std::int64_t answer(const golden::RealExecutor& executor, const std::string& planes,
                    golden::ThreadTeam& team) {
  Tensor picture(DType::kFloat32, {1, kSize, kSize, 3});
  const auto values = picture.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t pixel = i / 3;
    const char byte = planes[i % 3 * kPlane + pixel / kSize * 64 + pixel % kSize * 2];
    values[i] = (static_cast<float>(static_cast<unsigned char>(byte)) / 255.0F - 0.5F) / kStd;
  }
  const Tensor output = executor.run(picture, team);
  return std::ranges::max_element(output.as<float>()) - output.as<float>().begin();
}

// A network of PyTorch's exporter and pictures whose labels are what it answers.
class MixedPrecision : public testing::Test {
 protected:
  MixedPrecision() {
    const std::string network =
        read_file(source_folder() / "tests/onnx/producers/torch/vgg.float.onnx");
    folder_.write("net.onnx", network);
    folder_.write(
        "net.yaml",
        "preprocess: {resize: [16, 16], mean: [0.5, 0.5, 0.5], std: [0.01, 0.01, 0.01]}\n");
    const Graph graph = import_real_onnx(std::make_shared<const HeldFile>(folder_ / "net.onnx"));
    const golden::RealExecutor executor(graph);
    golden::ThreadTeam team(1);
    Random random(11);
    std::string batch;
    std::map<std::int64_t, int> answers;
    for (int i = 0; i < kPictures; ++i) {
      const std::string planes = blocks(random);
      const std::int64_t label = answer(executor, planes, team);
      ++answers[label];
      batch += static_cast<char>(label) + planes;
    }
    EXPECT_GE(answers.size(), 2U);
    folder_.write("labelled.bin", batch);
  }

  static std::string quantize(const std::string& options) {
    return "quantize net.onnx --calibrate labelled.bin -o out.onnx " + options;
  }

  json found(const std::string& options) {
    const Outcome outcome = run_qsim(folder_, quantize(options + " --json - --report out.html"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  }

  // Pictures that the file that was written gets right.
  std::int64_t top1_correct() {
    const Outcome outcome =
        run_qsim(folder_, "eval --model out.onnx --data labelled.bin --backend cpu --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out)["engines"][0]["top1_correct"];
  }

  void refuse(const std::string& options, int code, const std::string& message) {
    expect_error(folder_, quantize(options), code, message);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  }

  TestFolder folder_;
};

// How many pictures a share says are right: it is n / kPictures, rounded once.
std::int64_t correct(const json& share) {
  const auto count = std::llround(share.get<double>() * kPictures);
  EXPECT_EQ(share.get<double>(), static_cast<double>(count) / kPictures);
  return count;
}

void expect_consistent(const json& document) {
  const json& own = document["mixed_precision"];
  const std::int64_t lost = own["drop"];  // a percentage of 100 pictures
  static_assert(kPictures == 100);
  const std::int64_t fewest_right = correct(own["float_top1"]) - lost;
  EXPECT_GE(correct(own["float_top1"]), 95);
  EXPECT_GE(correct(own["top1"]), fewest_right);
  EXPECT_LT(own["bits_per_weight"], 8);
  std::vector<int> bits;
  std::int64_t all_bits = 0;
  std::int64_t all = 0;
  for (const json& layer : own["layers"]) {
    bits.push_back(layer["bits"]);
    all_bits += layer["bits"].get<std::int64_t>() * layer["elements"].get<std::int64_t>();
    all += layer["elements"].get<std::int64_t>();
    EXPECT_GT(layer["sensitivities"]["2"], layer["sensitivities"]["8"]);
    for (const json& each : document["layers"]) {
      if (each["name"] != layer["name"]) continue;
      EXPECT_EQ(each["weights"]["bits"], layer["bits"]);
      EXPECT_EQ(each["weights"]["elements"], layer["elements"]);
    }
  }
  EXPECT_EQ(own["bits_per_weight"], static_cast<double>(all_bits) / static_cast<double>(all));
  EXPECT_EQ(own["trials"][0]["bits"], std::vector<int>(bits.size(), 8));
  double fewest = 8;
  for (const json& trial : own["trials"]) {
    EXPECT_EQ(trial["within"], correct(trial["top1"]) >= fewest_right);
    if (trial["within"]) fewest = std::min(fewest, trial["bits_per_weight"].get<double>());
    if (trial["bits"] == bits) {
      EXPECT_EQ(trial["top1"], own["top1"]);
    }
  }
  EXPECT_EQ(own["bits_per_weight"], fewest);
  EXPECT_GE(own["seconds"]["sensitivities"], 0);
  EXPECT_GT(own["seconds"]["trials"], 0);
}

TEST_F(MixedPrecision, WritesANetworkOfTheAccuracyThatItSays) {
  for (const char* options :
       {"--mixed-precision mse --drop 3", "--mixed-precision trace --drop 3",
        "--mixed-precision mse --drop 3 --weight-rounding gptq --bias-correction"}) {
    const json document = found(options);
    expect_consistent(document);
    EXPECT_EQ(correct(document["mixed_precision"]["top1"]), top1_correct()) << options;
    const std::string page = read_file(folder_ / "out.html");
    EXPECT_NE(page.find("Bits of the weights"), std::string::npos);
    std::size_t rows = 0;
    for (std::size_t i = page.find("<td>yes<"); i != std::string::npos;
         i = page.find("<td>yes<", i + 1)) {
      ++rows;
    }
    EXPECT_GT(rows, 1U);
  }
}

TEST_F(MixedPrecision, NeedsFewerBitsWhereMoreMayBeLost) {
  const json strict = found("--mixed-precision mse --drop 1");
  const json loose = found("--mixed-precision mse --drop 20");
  EXPECT_EQ(strict["settings"]["mixed_precision"], "mse");
  EXPECT_EQ(strict["settings"]["drop"], "1");
  EXPECT_EQ(loose["mixed_precision"]["drop"], 20);
  EXPECT_LT(loose["mixed_precision"]["bits_per_weight"],
            strict["mixed_precision"]["bits_per_weight"].get<double>() - 0.5);
}

TEST_F(MixedPrecision, SaysWhatItFound) {
  const Outcome outcome = run_qsim(folder_, quantize("--mixed-precision mse --drop 20"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("bits of the weights: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" of 100 pictures are right, of the float network "),
            std::string::npos);
}

TEST_F(MixedPrecision, RefusesWhatItCannotFind) {
  const std::string mixed = "--mixed-precision mse ";
  for (const char* drop : {"0", "-1", "101", "half", "nan"}) {
    refuse(mixed + "--drop=" + drop, 2,
           "--drop: found '" + std::string(drop) + "'; allowed: 0.001 to 100");
  }
  refuse("--mixed-precision hessian", 2, "mse");
  refuse("--drop 1", 2, "--drop does nothing here: it needs --mixed-precision; leave it out");
  refuse(mixed + "--mode weight_only", 2,
         "--mixed-precision does nothing here: it needs --mode static; leave it out");
  refuse(mixed + "--weight-bits 4", 2,
         "--weight-bits does nothing here: it needs no --mixed-precision, which finds them");
  refuse(
      mixed + "--weight-levels log2", 2,
      "--weight-levels does nothing here: it needs no --mixed-precision, whose levels are uniform");
  refuse(mixed + "--scales scales.json", 2,
         "--mixed-precision does nothing here: it needs no --scales, which say the bits");
  folder_.write("layers.yaml", "layers:\n  - {name: '*', weight_bits: 4}\n");
  refuse(
      mixed + "--layers layers.yaml", 3,
      "has weight_bits or weight_levels of its own, which --mixed-precision finds; leave one out");
  refuse(mixed + "--drop 0.5 --quiet --activation-bits 2", 2, "with 8 bits in all layers ");
  Tensor pictures(DType::kFloat32, {4, 3, kSize, kSize});
  write_npy(folder_ / "pictures.npy", pictures);
  expect_error(folder_, "quantize net.onnx --calibrate pictures.npy -o out.onnx " + mixed, 3,
               "pictures.npy: the pictures have no labels, which --mixed-precision needs; give "
               "CIFAR-10 batches or a folder of class folders");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
}

}  // namespace
}  // namespace qsim
