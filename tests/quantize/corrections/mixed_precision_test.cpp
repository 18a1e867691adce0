// The search for bits against every assignment, and sensitivities against their definitions.
#include "quantize/mixed_precision.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "quantize/fake_network.h"
#include "tests/quantize/network/integer_output.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {
namespace {

std::vector<LayerSensitivity> four_layers(std::uint64_t seed) {
  Random random(seed);
  std::vector<LayerSensitivity> layers;
  for (std::size_t layer = 0; layer < 4; ++layer) {
    LayerSensitivity each{.layer = 2 * layer, .weights = random.uniform(100, 10'000), .at = {}};
    double error = static_cast<double>(random.uniform(1, 100)) * 1e-6;
    for (const int bits : kWeightBits) {
      each.at[bits] = error;
      error *= static_cast<double>(random.uniform(3, 20));
    }
    layers.push_back(each);
  }
  return layers;
}

double total_error(const std::vector<LayerSensitivity>& layers, const BitAssignment& bits) {
  double sum = 0;
  for (const LayerSensitivity& layer : layers) sum += layer.at.at(bits.at(layer.layer));
  return sum;
}

std::int64_t total_bits(const std::vector<LayerSensitivity>& layers, const BitAssignment& bits) {
  std::int64_t sum = 0;
  for (const LayerSensitivity& layer : layers) sum += layer.weights * bits.at(layer.layer);
  return sum;
}

// Over all 5^4 assignments.
std::int64_t fewest_bits(const std::vector<LayerSensitivity>& layers, double most_error) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (int choice = 0; choice < 625; ++choice) {
    BitAssignment bits;
    int rest = choice;
    for (const LayerSensitivity& layer : layers) {
      bits[layer.layer] = kWeightBits[static_cast<std::size_t>(rest % 5)];
      rest /= 5;
    }
    if (total_error(layers, bits) <= most_error)
      fewest = std::min(fewest, total_bits(layers, bits));
  }
  return fewest;
}

TEST(MixedPrecision, ComesNearTheCheapestOfAllAssignmentsAndNeverBelowTheLimit) {
  double excess = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto layers = four_layers(seed);
    const double most_error = 3 * total_error(layers, {{0, 4}, {2, 4}, {4, 4}, {6, 4}});
    std::size_t trials = 0;
    const MixedPrecision found = cheapest_assignment(
        layers, 1 - most_error,
        [&](const BitAssignment& bits) { return 1 - total_error(layers, bits); },
        [&](const MixedPrecisionStep&) { ++trials; });
    EXPECT_TRUE(found.is_enough);
    EXPECT_EQ(found.accuracy, 1 - total_error(layers, found.bits));
    EXPECT_GE(found.accuracy, 1 - most_error);
    EXPECT_EQ(found.weight_bits, total_bits(layers, found.bits));
    EXPECT_EQ(found.steps.size(), trials);
    const auto fewest = static_cast<double>(fewest_bits(layers, most_error));
    EXPECT_GE(static_cast<double>(found.weight_bits), fewest);
    EXPECT_LE(static_cast<double>(found.weight_bits), 1.35 * fewest) << seed;
    excess += static_cast<double>(found.weight_bits) / fewest - 1;
  }
  EXPECT_LT(excess / 30, 0.05);
}

TEST(MixedPrecision, EvaluatesWhatItReturnsAlsoWhereAccuracyDoesNotFollowTheSensitivities) {
  const auto layers = four_layers(3);
  // Layer 4 is said to be harmless and is not.
  const auto evaluate = [](const BitAssignment& bits) { return bits.at(4) < 8 ? 0.1 : 0.9; };
  const MixedPrecision found = cheapest_assignment(layers, 0.5, evaluate);
  EXPECT_TRUE(found.is_enough);
  EXPECT_EQ(found.bits, (BitAssignment{{0, 2}, {2, 2}, {4, 8}, {6, 2}}));
}

TEST(MixedPrecision, SaysWhenNotEvenEightBitsAreEnough) {
  const auto layers = four_layers(4);
  const MixedPrecision found =
      cheapest_assignment(layers, 0.9, [](const BitAssignment&) { return 0.8; });
  EXPECT_FALSE(found.is_enough);
  EXPECT_EQ(found.bits, (BitAssignment{{0, 8}, {2, 8}, {4, 8}, {6, 8}}));
  EXPECT_EQ(found.accuracy, 0.8);
  EXPECT_EQ(found.steps.size(), 1U);
}

TEST(MixedPrecision, IsEnoughWhereTheAccuracyIsTheLimit) {
  const auto layers = four_layers(5);
  const MixedPrecision found =
      cheapest_assignment(layers, 0.8, [](const BitAssignment&) { return 0.8; });
  EXPECT_TRUE(found.is_enough);
  EXPECT_EQ(found.bits, (BitAssignment{{0, 2}, {2, 2}, {4, 2}, {6, 2}}));
}

Tensor seeded_pictures(const ImageShape& shape, std::int64_t count) {
  Tensor pictures(DType::kFloat32, {count, shape.height, shape.width, shape.channels});
  Random random(17);
  for (float& value : pictures.as<float>()) {
    value = static_cast<float>(random.uniform(-1000, 1000)) / 1000;
  }
  return pictures;
}

SampleNetwork small_network() {
  SampleNetwork sample({1, 6, 6, 2});
  const TensorId x = sample.relu(sample.conv(sample.graph().input, 6));
  sample.linear(sample.flatten(sample.relu(sample.conv(x, 4))), 5);
  return sample;
}

TEST(Sensitivity, BitsOfALayerLeaveTheRestOfItsScheme) {
  const SampleNetwork sample = small_network();
  const Graph& graph = sample.graph();
  Scheme scheme;
  scheme.all.activations.bits = 6;
  LayerScheme own = scheme.all;
  own.weights.per_channel = false;
  scheme.layers[graph.layers[0].name] = own;
  const Scheme mixed = with_weight_bits(graph, scheme, {{0, 3}, {2, 4}});
  EXPECT_EQ(scheme_of(mixed, graph.layers[0].name).weights.levels.bits, 3);
  EXPECT_FALSE(scheme_of(mixed, graph.layers[0].name).weights.per_channel);
  EXPECT_EQ(scheme_of(mixed, graph.layers[2].name).weights.levels.bits, 4);
  EXPECT_TRUE(scheme_of(mixed, graph.layers[2].name).weights.per_channel);
  EXPECT_EQ(scheme_of(mixed, graph.layers[2].name).activations.bits, 6);
  EXPECT_EQ(scheme_of(mixed, graph.layers[1].name).weights.levels.bits, 8);
}

TEST(Sensitivity, IsTheErrorOfTheOutputWhenOneLayerHasFewBits) {
  const SampleNetwork sample = small_network();
  const Graph& graph = sample.graph();
  const Tensor pictures = seeded_pictures(graph.input_shape(), 37);
  golden::ThreadTeam team(1);
  const Scheme scheme;
  const auto found = sensitivities(graph, scheme, pictures, SensitivityRule::kMse, team);
  ASSERT_EQ(found.size(), 3U);
  const Tensor real = golden::RealExecutor(graph).run(pictures, team);
  for (const LayerSensitivity& layer : found) {
    const auto& weights = graph.layers[layer.layer].operation;
    const auto* conv = std::get_if<Conv2d>(&weights);
    const Tensor& tensor =
        conv != nullptr ? conv->weights : std::get<FullyConnected>(weights).weights;
    EXPECT_EQ(layer.weights, tensor.elems());
    for (const int bits : kWeightBits) {
      WeightScheme own;
      own.levels.bits = bits;
      const FakeNetwork fake =
          fake_network(graph, {{layer.layer, {quantize_weights(tensor, own, "x"), std::nullopt}}},
                       std::vector<std::optional<golden::TensorRule>>(graph.tensors.size()));
      const Tensor output = golden::RealExecutor(fake.graph).run(pictures, team);
      const double expected = distance(output, real).root_mean_square;
      EXPECT_NEAR(layer.at.at(bits), expected * expected, 1e-9 * expected * expected);
      EXPECT_GT(layer.at.at(bits), 0);
    }
    EXPECT_GT(layer.at.at(2), layer.at.at(4));
    EXPECT_GT(layer.at.at(4), layer.at.at(8));
  }
}

TEST(Sensitivity, ByTheTraceOfOneLinearLayerIsThatOfItsJacobian) {
  SampleNetwork sample({1, 1, 1, 40});
  sample.linear(sample.graph().input, 64);
  const Graph& graph = sample.graph();
  const Tensor pictures = seeded_pictures(graph.input_shape(), 30);
  golden::ThreadTeam team(1);
  const auto found = sensitivities(graph, {}, pictures, SensitivityRule::kTrace, team);
  // y = W x: the trace of J^T J over 30 pictures is 64 |x|^2, summed; an element's is that / (40 *
  // 64).
  double squares = 0;
  for (const float value : pictures.as<float>()) squares += double{value} * double{value};
  const Tensor& weights = std::get<FullyConnected>(graph.layers[0].operation).weights;
  WeightScheme three = Scheme{}.all.weights;
  three.levels.bits = 3;
  const Tensor exact = dequantize(quantize_weights(weights, three, "x"));
  double error = 0;
  for (std::size_t i = 0; i < weights.as<float>().size(); ++i) {
    error += std::pow(double{weights.as<float>()[i]} - double{exact.as<float>()[i]}, 2);
  }
  const double expected = 64 * squares / (40 * 64) * error / (30 * 64);
  EXPECT_NEAR(found[0].at.at(3), expected, 0.1 * expected);
}

}  // namespace
}  // namespace qsim::quantize
