// The shipped float networks quantized, and judged on pictures of the CIFAR-10 test batch that
// calibration has not seen. Skipped where there are no data, unless QSIM_REQUIRE lists `data`.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "formats/onnx/importer/real_importer.h"
#include "formats/pictures/cifar.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/calibration.h"
#include "quantize/fake_network.h"
#include "quantize/quantizer.h"
#include "tests/quantize/network/integer_output.h"

namespace qsim::quantize {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kJudged = 500;  // from the batch's first picture
constexpr std::int64_t kCalibrated = 128;
constexpr std::int64_t kFirstCalibrated = 1000;

// float32 [pictures][32][32][3], (p - 128) / 128 of each pixel, as the networks were trained.
Tensor pictures_of(const fs::path& batch, std::int64_t first, std::int64_t pictures) {
  Tensor tensor(DType::kFloat32, {pictures, 32, 32, 3});
  auto to = tensor.as<float>().begin();
  for (std::int64_t i = first; i < first + pictures; ++i) {
    for (const std::uint8_t pixel : read_cifar(batch, i).image.rgb) {
      *to++ = (static_cast<float>(pixel) - 128.0F) / 128.0F;
    }
  }
  return tensor;
}

// How many pictures have the class of their label.
int correct(const Tensor& outputs, const std::vector<int>& labels) {
  int count = 0;
  const auto each = static_cast<std::size_t>(outputs.elems() / outputs.shape[0]);
  for (std::size_t n = 0; n < static_cast<std::size_t>(outputs.shape[0]); ++n) {
    const auto scores = outputs.as<float>().subspan(n * each, each);
    count += std::ranges::max_element(scores) - scores.begin() == labels[n];
  }
  return count;
}

Tensor golden_outputs(Graph graph, const Tensor& pictures) {
  for (Value& tensor : graph.tensors) tensor.shape.batch = pictures.shape[0];
  golden::ExecutorOptions options;
  options.keep_every_layer = false;
  const Tensor input = quantized_tensor(pictures, graph.input_value());
  return dequantized_tensor(golden::run_graph(graph, input, options).back(), graph.output_value());
}

Scheme scheme_of(bool is_unsigned, ScaleKind kind, ClippingRule rule) {
  Scheme scheme;
  scheme.all.activations.is_unsigned = is_unsigned;
  scheme.all.kind = kind;
  scheme.all.clipping.rule = rule;
  scheme.input = scheme.all;
  scheme.input.clipping = {.rule = ClippingRule::kFixed, .fixed = {-1, 127.0F / 128}};
  return scheme;
}

std::string scheme_name(const Scheme& scheme) {
  const char* kinds[] = {"float", "dyadic", "power_of_two"};
  return std::string(kinds[static_cast<int>(scheme.all.kind)]) + " " +
         std::string(clipping_name(scheme.all.clipping.rule)) +
         (scheme.all.activations.is_unsigned ? " uint8" : " int8");
}

const Scheme kSchemes[] = {
    scheme_of(true, ScaleKind::kFloat, ClippingRule::kMinMax),
    scheme_of(true, ScaleKind::kDyadic, ClippingRule::kMinMax),
    scheme_of(true, ScaleKind::kPowerOfTwo, ClippingRule::kMinMax),
    scheme_of(false, ScaleKind::kPowerOfTwo, ClippingRule::kMse),
};

class TrainedNetworks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* variable = std::getenv("QSIM_DATA");
    batch_ = fs::path(variable != nullptr ? variable : "../shared/data") / "cifar10/test_batch.bin";
    if (fs::exists(batch_)) return;
    const char* required = std::getenv("QSIM_REQUIRE");
    if (required != nullptr && std::string(required).find("data") != std::string::npos) {
      FAIL() << "required: " << batch_;
    }
    GTEST_SKIP() << "skipped: no data";
  }

  fs::path batch_;
};

TEST_P(TrainedNetworks, KeepTheirAccuracyWithinAPoint) {
  const std::string name = GetParam();
  const Graph graph = import_real_onnx(std::make_shared<const HeldFile>(
      fs::path("models") / (name + "-cifar10") / (name + "-float.onnx")));
  golden::ThreadTeam team(2);
  const CalibrationPictures calibration{
      kCalibrated, [&](std::int64_t first, std::int64_t pictures) {
        return pictures_of(batch_, kFirstCalibrated + first, pictures);
      }};
  const std::vector<TensorStatistics> statistics = calibrate(graph, calibration, team);
  const Tensor pictures = pictures_of(batch_, 0, kJudged);
  std::vector<int> labels = cifar_labels(batch_);
  const int of_float = correct(golden::RealExecutor(graph).run(pictures, team), labels);
  EXPECT_GT(of_float, kJudged * 85 / 100);
  for (const Scheme& scheme : kSchemes) {
    const TensorQuantizations tensors = quantize_tensors(graph, statistics, scheme);
    EXPECT_EQ(tensors[graph.input]->scale, 0x1p-7F);
    EXPECT_EQ(tensors[graph.input]->zero_point, scheme.all.activations.is_unsigned ? 128 : 0);
    const QuantizedNetwork network = quantize_network(graph, tensors, scheme);
    const int of_golden = correct(golden_outputs(network.graph, pictures), labels);
    std::cout << name << ", " << scheme_name(scheme) << ": " << of_golden << " of " << kJudged
              << " right, float " << of_float << "\n";
    EXPECT_GE(of_golden, of_float - kJudged / 100);
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, TrainedNetworks, testing::Values("vgg8", "resnet14"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace qsim::quantize
