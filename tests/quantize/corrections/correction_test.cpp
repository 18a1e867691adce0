// Corrections of a small network's layers, seen from outside: by the fake-quantized network that
// they make.
#include "quantize/correction.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "quantize/bias_correction.h"
#include "quantize/fake_network.h"
#include "quantize/fusion.h"
#include "quantize/layer_weights.h"
#include "tests/quantize/network/integer_output.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {
namespace {

constexpr std::int64_t kPictures = 24;

// A residual block and a depthwise layer in the middle, two linear layers at the end.
SampleNetwork residual_network() {
  SampleNetwork sample({1, 8, 8, 3});
  const TensorId x = sample.relu(sample.conv(sample.graph().input, 8));
  const TensorId y = sample.conv(sample.relu(sample.conv(x, 8, 3, 1, 8)), 8);
  const TensorId z = sample.concat({sample.relu(sample.add(x, y)), x});
  sample.linear(sample.relu(sample.linear(sample.flatten(sample.max_pool(z)), 12)), 5);
  return sample;
}

Tensor seeded_pictures(std::int64_t count) {
  Tensor pictures(DType::kFloat32, {count, 8, 8, 3});
  Random random(9);
  float level = 0;
  for (float& value : pictures.as<float>()) {
    level = 0.8F * level + static_cast<float>(random.uniform(-1000, 1000)) / 1000;
    value = level;
  }
  return pictures;
}

// The network with weights of `bits` bits, ready to be corrected.
struct Quantized {
  explicit Quantized(int bits, Tensor of = seeded_pictures(kPictures))
      : sample(residual_network()), pictures(std::move(of)) {
    calibration = {kPictures, [this](std::int64_t first, std::int64_t count) {
                     Tensor part(DType::kFloat32, {count, 8, 8, 3});
                     const std::size_t each = pictures.bytes.size() / kPictures;
                     std::copy_n(
                         pictures.bytes.begin() +
                             static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * each),
                         static_cast<std::size_t>(count) * each, part.bytes.begin());
                     return part;
                   }};
    scheme.all.weights.levels.bits = bits;
    scheme.input = scheme.all;
    tensors = quantize_tensors(graph(), calibrate(graph(), calibration, team), scheme);
  }

  const Graph& graph() const { return sample.graph(); }
  CorrectedWeights correct(const Corrections& corrections) {
    return correct_layers(graph(), tensors, scheme, calibration, corrections, team);
  }
  CorrectedWeights correct(const Corrections& corrections, golden::ThreadTeam& other) {
    return correct_layers(graph(), tensors, scheme, calibration, corrections, other);
  }
  // Every tensor of the network with those weights, in fake quantization.
  std::vector<Tensor> fake_tensors(const std::map<std::size_t, LayerWeights>& weights) {
    const FakeNetwork fake = fake_network(graph(), weights, uniform_rules(tensors));
    return all_tensors(fake.graph, fake.rules);
  }
  std::vector<Tensor> float_tensors() { return all_tensors(graph(), {}); }

  std::vector<Tensor> all_tensors(const Graph& of,
                                  std::vector<std::optional<golden::TensorRule>> rules) {
    std::vector<Tensor> found(of.tensors.size());
    golden::RealExecutorOptions options;
    options.rules = std::move(rules);
    golden::RealExecutor(of, options).run(pictures, team, [&](TensorId id, const Tensor& tensor) {
      found[id] = tensor;
    });
    return found;
  }

  SampleNetwork sample;
  Tensor pictures;
  CalibrationPictures calibration;
  Scheme scheme;
  TensorQuantizations tensors;
  golden::ThreadTeam team{1};
};

double squared_distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.as<float>().size(); ++i) {
    const double difference = double{a.as<float>()[i]} - double{b.as<float>()[i]};
    sum += difference * difference;
  }
  return sum;
}

TEST(Correction, ToNearestWithoutBiasesGivesTheWeightsOfTheQuantizer) {
  Quantized network(4);
  const CorrectedWeights corrected = network.correct({});
  const auto expected = weights_of_layers(network.graph(), network.tensors, network.scheme);
  ASSERT_EQ(corrected.weights.size(), 5U);
  for (const auto& [index, weights] : expected) {
    EXPECT_EQ(corrected.weights.at(index).weights, weights.weights);
    EXPECT_EQ(corrected.weights.at(index).bias, weights.bias);
  }
  ASSERT_EQ(corrected.layers.size(), 5U);
  for (const CorrectedLayer& layer : corrected.layers) {
    EXPECT_EQ(layer.error, layer.error_of_nearest);
    EXPECT_GT(layer.error, 0);
  }
}

// Their squares are not.
TEST(Correction, InputsThatFloat32HoldsAreRoundedForWhateverTheirSize) {
  Tensor large = seeded_pictures(kPictures);
  for (float& value : large.as<float>()) value = std::ldexp(value, 70);
  Quantized one(3);
  Quantized other(3, std::move(large));
  const Corrections gptq{.rounding = WeightRounding::kGptq};
  const CorrectedWeights small_inputs = one.correct(gptq);
  const CorrectedWeights large_inputs = other.correct(gptq);
  const std::size_t first = small_inputs.layers.front().layer;
  EXPECT_EQ(large_inputs.weights.at(first).weights, small_inputs.weights.at(first).weights);
  EXPECT_NE(small_inputs.weights.at(first).weights,
            weights_of_layers(one.graph(), one.tensors, one.scheme).at(first).weights);
}

TEST(Correction, EachLayerIsJudgedOnTheInputsOfTheFakeQuantizedNetwork) {
  Quantized network(4);
  // Biases move every layer after, and the last layer has no Relu after it, but a rule: its sums
  // are seen without the rule.
  const CorrectedWeights corrected =
      network.correct({.rounding = WeightRounding::kLearned, .bias = true});
  auto rules = uniform_rules(network.tensors);
  rules[network.graph().output] = std::nullopt;
  const FakeNetwork fake = fake_network(network.graph(), corrected.weights, rules);
  const Tensor quantized = network.all_tensors(fake.graph, fake.rules)[network.graph().output];
  const Tensor real = network.float_tensors()[network.graph().output];
  const double error = squared_distance(quantized, real) / static_cast<double>(real.elems());
  EXPECT_NEAR(corrected.layers.back().error, error, 1e-4 * error);
}

TEST(Correction, RoundsBySampledInputsOfTheQuantizedNetworkToTheSumsOfTheFloatOne) {
  Quantized network(3);
  const Corrections corrections{.rounding = WeightRounding::kLearned, .positions = 100};
  const CorrectedWeights corrected = network.correct(corrections);
  const auto nearest = weights_of_layers(network.graph(), network.tensors, network.scheme);
  const std::size_t last = corrected.layers.back().layer;
  const Layer& layer = network.graph().layers[last];
  // By hand, for the last layer, which is linear: all pictures are its positions.
  const auto rows = [](const Tensor& tensor) {
    Matrix matrix(tensor.shape[0], tensor.shape[3]);
    std::ranges::copy(tensor.as<float>(), matrix.values.begin());
    return matrix;
  };
  const Tensor& weights = std::get<FullyConnected>(layer.operation).weights;
  Matrix matrix(weights.shape[0], weights.shape[1]);
  std::ranges::copy(weights.as<float>(), matrix.values.begin());
  const RoundingProblem problem =
      rounding_problem(matrix, rows(network.fake_tensors(corrected.weights)[layer.inputs[0]]),
                       rows(network.float_tensors()[layer.inputs[0]]), network.team);
  EXPECT_EQ(round_adaptively(weights, *nearest.at(last).weights,
                             LevelGrid(network.scheme.all.weights), {problem}, {}, network.team),
            corrected.weights.at(last).weights);
}

TEST(Correction, OfBiasesBringsWhatTheNextLayerReadsNearerToTheFloatNetwork) {
  for (const WeightRounding rounding : {WeightRounding::kNearest, WeightRounding::kGptq}) {
    Quantized network(3);
    const CorrectedWeights corrected = network.correct({.rounding = rounding, .bias = true});
    const std::vector<Tensor> real = network.float_tensors();
    std::size_t clamped = 0;
    for (const FusedLayer& fused : fuse(network.graph()).layers) {
      if (!corrected.weights.contains(fused.layer)) continue;
      const TensorId output = network.graph().layers[fused.layer].output;
      // What the layer gives with its bias, and with that of the float network.
      const auto error = [&](bool with_bias) {
        auto weights = corrected.weights;
        if (!with_bias) {
          const auto bias =
              weights_of(network.graph().layers[fused.layer].operation)->bias->as<float>();
          weights.at(fused.layer).bias = std::vector<float>(bias.begin(), bias.end());
        }
        auto rules = uniform_rules(network.tensors);
        rules[output] = std::nullopt;
        const FakeNetwork fake = fake_network(network.graph(), weights, rules);
        const Tensor found = network.all_tensors(fake.graph, fake.rules)[output];
        double sum = 0;
        for (std::size_t i = 0; i < found.as<float>().size(); ++i) {
          sum += std::pow(std::clamp(found.as<float>()[i], fused.low, fused.high) -
                              std::clamp(real[output].as<float>()[i], fused.low, fused.high),
                          2);
        }
        return sum;
      };
      EXPECT_LT(error(true), error(false)) << network.graph().layers[fused.layer].name;
      clamped += fused.low == 0 ? 1U : 0U;
    }
    EXPECT_GE(clamped, 3U);
    EXPECT_LT(clamped, corrected.layers.size());
  }
}

TEST(Correction, ByLearningAndByGptqLowersTheErrorOfEveryLayerAndOfTheOutput) {
  for (const WeightRounding rounding : {WeightRounding::kLearned, WeightRounding::kGptq}) {
    Quantized network(3);
    const TensorId output = network.graph().output;
    const CorrectedWeights corrected = network.correct({.rounding = rounding});
    for (const CorrectedLayer& layer : corrected.layers) {
      EXPECT_LT(layer.error, layer.error_of_nearest) << network.graph().layers[layer.layer].name;
    }
    const Tensor real = network.float_tensors()[output];
    const auto nearest = network.correct({});
    EXPECT_LT(squared_distance(network.fake_tensors(corrected.weights)[output], real),
              0.7 * squared_distance(network.fake_tensors(nearest.weights)[output], real));
  }
}

TEST(Correction, GivesTheSameBitsForAnyNumberOfThreads) {
  Quantized network(4);
  golden::ThreadTeam three(3);
  for (const WeightRounding rounding : {WeightRounding::kLearned, WeightRounding::kGptq}) {
    const Corrections corrections{.rounding = rounding, .bias = true};
    const CorrectedWeights one = network.correct(corrections);
    const CorrectedWeights other = network.correct(corrections, three);
    for (const auto& [index, weights] : one.weights) {
      EXPECT_EQ(other.weights.at(index).weights, weights.weights);
      EXPECT_EQ(other.weights.at(index).bias, weights.bias);
    }
  }
}

TEST(Correction, OfWhatPicturesOfZerosTellChangesNoWeightAndFailsNowhere) {
  Quantized network(4, Tensor(DType::kFloat32, {kPictures, 8, 8, 3}));
  const CorrectedWeights nearest = network.correct({});
  for (const WeightRounding rounding : {WeightRounding::kLearned, WeightRounding::kGptq}) {
    const CorrectedWeights corrected = network.correct({.rounding = rounding, .bias = true});
    // The first layer reads zeros.
    EXPECT_EQ(corrected.weights.at(0).weights, nearest.weights.at(0).weights);
    for (const auto& [index, weights] : corrected.weights) {
      for (const float bias : *weights.bias) EXPECT_TRUE(std::isfinite(bias));
    }
  }
}

TEST(Correction, TakesAsManyPicturesAsFitInMemory) {
  Quantized network(4);
  EXPECT_EQ(network.correct({}).pictures, kPictures);
  Corrections corrections;
  corrections.most_bytes = 100'000;
  const CorrectedWeights few = network.correct(corrections);
  // concat's operands and result: 8 * 8 * (8 + 8 + 16) floats in both networks, of each picture
  EXPECT_EQ(few.pictures, 100'000 / (8 * 8 * 32 * 4 * 2));
  corrections.most_bytes = 1;
  EXPECT_EQ(network.correct(corrections).pictures, 1);
}

TEST(Correction, TheQuantizerTakesWhatIsDecided) {
  Quantized network(4);
  const CorrectedWeights corrected =
      network.correct({.rounding = WeightRounding::kGptq, .bias = true});
  const QuantizedNetwork plain = quantize_network(network.graph(), network.tensors, network.scheme);
  const QuantizedNetwork better =
      quantize_network(network.graph(), network.tensors, network.scheme, corrected.weights);
  const TensorId output = network.graph().output;
  const auto distance_of = [&](const QuantizedNetwork& integer,
                               const std::map<std::size_t, LayerWeights>& weights) {
    const FakeNetwork fake = fake_network(network.graph(), weights, uniform_rules(network.tensors));
    return fake_against_integer(fake, integer, network.pictures, network.team).mean;
  };
  const double near = distance_of(better, corrected.weights);
  EXPECT_LT(near, 0.2 * static_cast<double>(network.tensors[output]->scale));
  EXPECT_GT(distance_of(plain, corrected.weights), 5 * near);
}

}  // namespace
}  // namespace qsim::quantize
