// `qsim quantize --mode`, and what runs its networks: golden, to the bits of its own plain loops;
// the accelerator's engines refuse them by name.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/calibration.h"
#include "quantize/fake_network.h"
#include "quantize/hybrid.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

using nlohmann::json;

constexpr std::int64_t kPictures = 6;

std::filesystem::path float_file() {
  return source_folder() / "tests/onnx/producers/torch/vgg.float.onnx";
}

// [N][3][16][16].
Tensor write_pictures(const TestFolder& folder) {
  Random random(3);
  Tensor tensor(DType::kFloat32, {kPictures, 3, 16, 16});
  for (float& x : tensor.as<float>()) {
    x = static_cast<float>(random.uniform(-1000, 1000)) / 500.0F;
  }
  write_npy(folder / "pictures.npy", tensor);
  return tensor;
}

Tensor nhwc(const Tensor& planes) {
  const Shape& s = planes.shape;
  Tensor result(DType::kFloat32, {s[0], s[2], s[3], s[1]});
  const auto channels = static_cast<std::size_t>(s[1]);
  const auto pixels = static_cast<std::size_t>(s[2] * s[3]);
  for (std::size_t i = 0; i < planes.as<float>().size(); ++i) {
    const std::size_t picture = i / (channels * pixels);
    const std::size_t to = (picture * pixels + i % pixels) * channels + i / pixels % channels;
    result.as<float>()[to] = planes.as<float>()[i];
  }
  return result;
}

std::string quantize(const std::string& options) {
  return "quantize " + float_file().string() + " --calibrate pictures.npy -o out.onnx " + options;
}

Tensor golden_run(const TestFolder& folder, const std::string& options = "") {
  const Outcome outcome =
      run_qsim(folder, "golden run --model out.onnx --input pictures.npy --out run " + options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return read_npy(folder / "run" / "output.npy");
}

// The plain loops, without a file: the quantizer's own network.
struct Reference {
  HybridMode mode;
  std::string options;
  int bits = 8;
  bool log2 = false;
};

Tensor plain_output(const Reference& reference, const Tensor& pictures) {
  const Graph graph = import_real_onnx(std::make_shared<const HeldFile>(float_file()));
  golden::ThreadTeam team(1);
  quantize::Scheme scheme;
  scheme.all.clipping.rule = quantize::ClippingRule::kMse;
  scheme.all.weights.levels.bits = reference.bits;
  scheme.all.weights.log2 = reference.log2;
  scheme.input = scheme.all;
  quantize::TensorQuantizations tensors(graph.tensors.size());
  std::vector<std::optional<TensorRule>> rules;
  if (reference.mode == HybridMode::kFake) {
    const quantize::CalibrationPictures all{
        kPictures, [&](std::int64_t first, std::int64_t count) {
          Tensor part(DType::kFloat32, {count, 16, 16, 3});
          const std::size_t one = part.bytes.size() / static_cast<std::size_t>(count);
          std::copy_n(pictures.bytes.begin() + static_cast<std::ptrdiff_t>(one) * first,
                      part.bytes.size(), part.bytes.begin());
          return part;
        }};
    tensors = quantize::quantize_tensors(graph, quantize::calibrate(graph, all, team), scheme);
    rules = quantize::uniform_rules(tensors);
  }
  const HybridNetwork network = quantize::hybrid_network(
      graph, reference.mode, quantize::weights_of_layers(graph, tensors, scheme), rules);
  golden::RealExecutorOptions options = golden::executor_options(network);
  options.plain = true;
  return golden::RealExecutor(network.graph, options).run(pictures, team);
}

TEST(QuantizeModes, GoldenRunsTheirFilesToTheBitsOfThePlainLoops) {
  const TestFolder folder;
  const Tensor pictures = nhwc(write_pictures(folder));
  std::set<std::string> outputs;
  const std::vector<Reference> references = {
      {HybridMode::kWeightOnly, "--mode weight_only"},
      {HybridMode::kWeightOnly, "--mode weight_only --weight-bits 3", 3},
      {HybridMode::kWeightOnly, "--mode weight_only --weight-levels log2 --weight-bits 5", 5, true},
      {HybridMode::kDynamic, "--mode dynamic"},
      {HybridMode::kDynamic, "--mode dynamic --weight-levels log2 --weight-bits 4", 4, true},
      {HybridMode::kFake, "--mode fake"},
      {HybridMode::kFake, "--mode fake --weight-levels log2 --weight-bits 4", 4, true}};
  for (const Reference& reference : references) {
    const Outcome outcome = run_qsim(folder, quantize(reference.options));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Tensor found = golden_run(folder);
    EXPECT_EQ(found.bytes, plain_output(reference, pictures).bytes) << reference.options;
    EXPECT_EQ(golden_run(folder, "--batch 1").bytes, found.bytes) << reference.options;
    outputs.emplace(reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size());
  }
  EXPECT_EQ(outputs.size(), references.size());
}

TEST(QuantizeModes, SayWhatEachLayerLoses) {
  const TestFolder folder;
  write_pictures(folder);
  double before = 200;
  for (const char* bits : {"8", "4", "2"}) {
    const Outcome outcome = run_qsim(
        folder, quantize("--mode weight_only --json out.json --weight-bits " + std::string(bits)));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json document = json::parse(read_file(folder / "out.json"));
    EXPECT_EQ(document["schema"], "qsim.quantize-mode/1");
    EXPECT_EQ(document["mode"], "weight_only");
    EXPECT_EQ(document["pictures"], kPictures);
    EXPECT_EQ(document["quantized_bytes"], read_file(folder / "out.onnx").size());
    EXPECT_LT(document["quantized_bytes"].get<double>(),
              0.5 * document["float_bytes"].get<double>());
    const double sqnr = std::stod(document["output_sqnr_db"].get<std::string>());
    EXPECT_LT(sqnr, before - 5);
    before = sqnr;
    EXPECT_GE(document["layers"].size(), 8U);
  }
}

TEST(QuantizeModes, EveryOptionGivesAnotherNetwork) {
  const TestFolder folder;
  write_pictures(folder);
  folder.write("layers.yaml", "layers:\n  - {name: '*', weight_bits: 5}\n");
  std::set<std::string> files;
  const std::vector<std::string> options = {
      "--mode weight_only",
      "--mode weight_only --weight-clipping mse",
      "--mode weight_only --granularity tensor",
      "--mode weight_only --scale-kind power_of_two",
      "--mode weight_only --equalize",
      "--mode weight_only --weight-bits 4 --bias-correction",
      "--mode weight_only --weight-bits 4 --weight-rounding gptq",
      "--mode weight_only --layers layers.yaml",
      "--mode dynamic",
      "--mode dynamic --weight-symmetry affine --granularity tensor",
      "--mode fake",
      "--mode fake --activations s8",
      "--mode fake --activation-bits 4",
      "--mode fake --clipping min_max",
      "--mode fake --activation-levels log2 --activation-bits 4",
      "--mode fake --activation-levels log2 --activation-bits 5",
      "--mode fake --activation-levels log2 --activation-bits 4 --scale-kind power_of_two"};
  for (const std::string& each : options) {
    const Outcome outcome = run_qsim(folder, quantize(each));
    ASSERT_EQ(outcome.exit_code, 0) << each << outcome.err;
    EXPECT_TRUE(files.insert(read_file(folder / "out.onnx")).second) << each;
  }
}

TEST(QuantizeModes, TheAcceleratorRefusesThemByName) {
  const TestFolder folder;
  write_pictures(folder);
  const std::string run_by =
      "; run it by `qsim golden run`, or quantize the float model that it was made of: `qsim "
      "quantize`";
  const std::vector<std::pair<std::string, std::string>> modes = {
      {"dynamic", "dynamic quantization: the accelerator finds no ranges while it runs" + run_by},
      {"weight_only", "weight-only quantization: the accelerator computes no float32" + run_by},
      {"fake", "fake quantization: the accelerator computes no float32" + run_by}};
  for (const auto& [mode, message] : modes) {
    ASSERT_EQ(run_qsim(folder, quantize("--mode " + mode)).exit_code, 0);
    for (const char* command :
         {"run --no-host --model out.onnx --input pictures.npy",
          "verify --no-host --model out.onnx", "compile --model out.onnx --out out.qsim",
          "profile --model out.onnx",
          "run --no-host --model out.onnx --input pictures.npy --engine interpreter"}) {
      expect_error(folder, command, 4, message);
    }
    expect_error(folder, "golden run --model out.onnx --input pictures.npy --backend cuda", 2,
                 "has float32 parts, which golden computes on the CPU");
    expect_error(folder, "golden run --model out.onnx --input pictures.npy --rounding half_up", 2,
                 "--rounding is for ONNX models");
    expect_error(folder, "quantize out.onnx --calibrate pictures.npy -o again.onnx", 4,
                 "the model is quantized already");
  }
}

TEST(QuantizeModes, RefuseOptionsThatDoNothing) {
  const TestFolder folder;
  write_pictures(folder);
  folder.write("scales.json", "{}");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"--mode weight_only --form qdq", "--form does nothing here: it needs --mode static"},
      {"--mode dynamic --report a.html", "--report does nothing here: it needs --mode static"},
      {"--mode dynamic --scales scales.json", "--scales does nothing here: it needs --mode static"},
      {"--mode dynamic --clipping mse", "it needs --mode static or fake"},
      {"--mode weight_only --activation-bits 4", "it needs --mode static or fake"},
      {"--mode weight_only --activations s8", "it needs ranges of uniform levels"},
      {"--mode fake --activation-levels log2 --activation-bits 4 --symmetry symmetric",
       "it needs ranges of uniform levels"},
      {"--activation-levels log2 --activation-bits 4", "it needs --mode fake"},
      {"--mode fake --activation-levels log2",
       "--activation-levels log2 needs --activation-bits 2 to 5"}};
  for (const auto& [options, message] : wrong) {
    expect_error(folder, quantize(options), 2, message);
    EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  }
  expect_error(folder, quantize("--mode int4"), 2, "--mode");
  expect_error(folder, quantize("--mode fake --activation-levels int4"), 2, "--activation-levels");
  expect_error(folder, quantize("--mode dynamic --weight-levels log2 --weight-bits 5"), 4,
               "dynamic quantization of weights that int8 does not hold");
}

}  // namespace
}  // namespace qsim
