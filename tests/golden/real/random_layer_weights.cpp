#include "tests/golden/real/random_layer_weights.h"

namespace qsim::golden {

namespace {

const Tensor* weights_of(const Layer& layer) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) return &conv->weights;
  const auto* linear = std::get_if<FullyConnected>(&layer.operation);
  return linear != nullptr ? &linear->weights : nullptr;
}

std::optional<InputRule> input_rule(Random& random, WeightMode mode) {
  if (mode == WeightMode::kWeightOnly) return std::nullopt;
  if (mode == WeightMode::kStatic) return UniformRule{0.02F, 100, 0, 255};
  return DynamicRule{static_cast<int>(random.uniform(2, 8)), random.chance(0.5),
                     random.chance(0.5)};
}

}  // namespace

IntegerWeights random_integers(Random& random, const Shape& shape) {
  IntegerWeights weights;
  const bool wide = random.chance(0.5);
  weights.levels = Tensor(wide ? DType::kInt16 : DType::kInt8, shape);
  for (std::int64_t i = 0; i < weights.levels.elems(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (wide) {
      weights.levels.as<std::int16_t>()[at] = static_cast<std::int16_t>(random.uniform(0, 255));
    } else {
      weights.levels.as<std::int8_t>()[at] = static_cast<std::int8_t>(random.uniform(-128, 127));
    }
  }
  const std::int64_t scales = random.chance(0.5) ? 1 : shape[0];
  for (std::int64_t c = 0; c < scales; ++c) {
    weights.scales.push_back(static_cast<float>(random.uniform(1, 1000)) * 1e-5F);
    if (wide) weights.zero_points.push_back(static_cast<std::int32_t>(random.uniform(0, 255)));
  }
  return weights;
}

Log2Weights random_powers(Random& random, const Shape& shape) {
  Log2Weights weights;
  weights.signs = Tensor(DType::kInt8, shape);
  weights.exponents = Tensor(DType::kInt8, shape);
  weights.lo = static_cast<std::int32_t>(random.uniform(-20, 3));
  weights.hi = weights.lo + static_cast<std::int32_t>(random.uniform(0, kMostExponents));
  for (std::size_t i = 0; i < weights.signs.bytes.size(); ++i) {
    weights.signs.as<std::int8_t>()[i] = static_cast<std::int8_t>(random.uniform(-1, 1));
    weights.exponents.as<std::int8_t>()[i] =
        static_cast<std::int8_t>(random.uniform(weights.lo, weights.hi));
  }
  const std::int64_t scales = random.chance(0.5) ? 1 : shape[0];
  for (std::int64_t c = 0; c < scales; ++c) {
    weights.scales.push_back(static_cast<float>(random.uniform(1, 1000)) * 1e-3F);
  }
  return weights;
}

std::map<std::size_t, RealLayerWeights> random_layer_weights(Random& random, const Graph& graph,
                                                             WeightMode mode, bool log2) {
  std::map<std::size_t, RealLayerWeights> result;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Tensor* weights = weights_of(graph.layers[i]);
    if (weights == nullptr) continue;
    RealLayerWeights& of_layer = result[i];
    if (log2) {
      of_layer.weights = random_powers(random, weights->shape);
    } else {
      of_layer.weights = random_integers(random, weights->shape);
    }
    of_layer.input = input_rule(random, mode);
  }
  return result;
}

}  // namespace qsim::golden
