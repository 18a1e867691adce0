// The errors of layers against sums by plain loops, and scales that are given.
#include "quantize/layer_errors.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "quantize/fusion.h"
#include "quantize/given_scales.h"
#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

Tensor float_tensor(const PlainTensor& picture) {
  Tensor tensor(DType::kFloat32, picture.shape.nhwc());
  std::ranges::transform(picture.values, tensor.as<float>().begin(),
                         [](double x) { return static_cast<float>(x); });
  return tensor;
}

// The same picture several times.
CalibrationPictures repeated(const Tensor& picture, std::int64_t count) {
  return {count, [picture](std::int64_t, std::int64_t pictures) {
            Shape shape = picture.shape;
            shape[0] *= pictures;
            Tensor tensor(DType::kFloat32, shape);
            for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
              tensor.bytes[i] = picture.bytes[i % picture.bytes.size()];
            }
            return tensor;
          }};
}

TEST(LayerErrors, AreThoseOfPlainLoops) {
  int compared = 0;
  int clamped = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SampleNetwork sample = random_network(seed);
    if (sample.graph().input_shape().batch != 1) continue;
    const PlainTensor picture = SampleNetwork(sample).picture();
    const JudgedRun run = run_of(sample, scheme_of_type(seed % 2 == 0));
    golden::ThreadTeam team(2);
    const NetworkError found = measure_errors(sample.graph(), run.quantizations, run.network,
                                              repeated(float_tensor(picture), 3), team);
    const Fusion fusion = fuse(sample.graph());
    for (const LayerError& layer : found.layers) {
      const auto fused = std::ranges::find(fusion.layers, layer.layer, &FusedLayer::layer);
      const PlainTensor& real = run.reals[sample.graph().layers[layer.layer].output];
      const PlainTensor& made = run.quantized[run.network.graph.layers[layer.quantized].output];
      double squares = 0;
      for (std::size_t i = 0; i < real.values.size(); ++i) {
        const double x = std::clamp(real.values[i], double{fused->low}, double{fused->high});
        squares += (x - made.values[i]) * (x - made.values[i]);
      }
      EXPECT_EQ(layer.error.count, 3 * std::ssize(real.values));
      EXPECT_NEAR(layer.error.sum_squared_errors, 3 * squares, 1e-4 * (3 * squares + 1e-3));
      ++compared;
      clamped += std::isfinite(fused->low) ? 1 : 0;
    }
    EXPECT_GT(mean_squared_error(found.output), 0);
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(clamped, 20);
}

TEST(LayerErrors, AreTheSameForAnyNumberOfThreadsAndAnyMemory) {
  SampleNetwork sample = random_network(3);
  const Tensor picture = float_tensor(SampleNetwork(sample).picture());
  const JudgedRun run = run_of(sample, scheme_of_type(true));
  const auto sums = [&](int threads, std::int64_t most_bytes) {
    golden::ThreadTeam team(threads);
    const NetworkError found = measure_errors(sample.graph(), run.quantizations, run.network,
                                              repeated(picture, 5), team, {}, most_bytes);
    std::vector<double> result;
    for (const LayerError& layer : found.layers) {
      result.push_back(layer.error.sum_squared_errors);
      result.push_back(layer.error.sum_products);
    }
    return result;
  };
  EXPECT_EQ(sums(1, 1 << 28), sums(3, 1 << 28));
  EXPECT_EQ(sums(1, 1 << 28), sums(2, 1));
}

TEST(GivenScales, AreThoseOfAllTensorsWithTheSameNumbers) {
  SampleNetwork sample({1, 8, 8, 3});
  const TensorId conv = sample.conv(sample.graph().input, 4);
  const TensorId relu = sample.relu(conv);
  const TensorId pool = sample.max_pool(relu);
  sample.conv(pool, 5);
  const Quantization given{0.25F, 7, 0, 200};
  for (const std::size_t named : {0U, 1U, 2U}) {
    TensorQuantizations tensors = run_of(sample, scheme_of_type(true)).quantizations;
    GivenScales scales;
    scales.tensors[sample.graph().layers[named].name] = given;
    take_scales(sample.graph(), scales, tensors);
    EXPECT_EQ(tensors[relu], given) << named;
    EXPECT_EQ(tensors[pool], given) << named;
    EXPECT_FALSE(tensors[conv].has_value());
    EXPECT_NE(tensors[sample.output()], given);
    EXPECT_NE(tensors[sample.graph().input], given);
  }
}

TEST(GivenScales, RoundWeightsToTheLevelsOfTheirBits) {
  SampleNetwork sample({1, 4, 4, 1});
  sample.conv(sample.graph().input, 2, 1);
  const auto weights = sample.conv_at(0).weights.as<float>();
  weights[0] = 0.125F;  // a tie at scale 0.25
  weights[1] = -100;
  GivenScales scales;
  scales.weights[sample.graph().layers[0].name] = {{0.25F, 0.5F}, 4};
  const auto decided = weights_at_scales(sample.graph(), scales);
  const auto levels = decided.at(0).weights->levels.as<std::int16_t>();
  EXPECT_EQ(levels[0], 0);
  EXPECT_EQ(levels[1], -7);
  scales.weights.begin()->second.scales = {1, 1, 1};
  EXPECT_THROW(weights_at_scales(sample.graph(), scales), Error);
}

TEST(GivenScales, StayAsTheyAreForAChannelOfZeros) {
  SampleNetwork sample({1, 4, 4, 1});
  sample.conv(sample.graph().input, 2, 1);
  Conv2d& conv = sample.conv_at(0);
  conv.weights.as<float>()[1] = 0;
  conv.bias.as<float>()[1] = 3;
  const Scheme scheme = scheme_of_type(true);
  const TensorQuantizations tensors = run_of(sample, scheme).quantizations;
  GivenScales scales;
  scales.weights[sample.graph().layers[0].name] = {{0.25F, 0.5F}, 4};
  const auto decided = weights_at_scales(sample.graph(), scales);
  const QuantizedNetwork network = quantize_network(sample.graph(), tensors, scheme, decided);
  const auto& found = std::get<Conv2d>(network.graph.layers[0].operation);
  const double unit = 0.5 * double{tensors[sample.graph().input]->scale};
  EXPECT_EQ(found.bias.as<std::int32_t>()[1], static_cast<int>(std::nearbyint(3 / unit)));
}

}  // namespace
}  // namespace qsim::quantize
