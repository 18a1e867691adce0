#include "quantize/hybrid.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "golden/graph/real/real_rules.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

constexpr int kLeastBits = 2;
constexpr int kMostBits = 5;
constexpr int kCandidates = 33;  // of a scale: four octaves in eighths

RealLayerWeights integers_of(const Layer& layer, const QuantizedWeights& weights, HybridMode mode) {
  RealLayerWeights result = layer_weights_of(weights.levels, weights.scales, weights.zero_points);
  if (mode != HybridMode::kDynamic) return result;
  const bool is_wide = weights.zero_points[0] == 0 && !fits_int8(weights);
  if (is_wide) {
    throw_unsupported(layer_place(layer.name, layer.source) +
                      ": dynamic quantization of weights that int8 does not hold; supported: at "
                      "most 8 bits, 4 of powers of two");
  }
  result.input = DynamicRule{.bits = 8, .symmetric = false, .per_picture = true};
  return result;
}

void set_layer(Operation& operation, const RealLayerWeights& integers,
               const LayerWeights& weights) {
  const auto own = weights_of(operation);
  if (!own) return;
  *own->weights = dequantized(integers);
  if (weights.bias) std::ranges::copy(*weights.bias, own->bias->as<float>().begin());
}

// Of the bins' middles.
double squared_error(const TensorStatistics& statistics, const golden::Log2Rule& rule) {
  Tensor middles(DType::kFloat32, {static_cast<std::int64_t>(statistics.bins.size())});
  const auto values = middles.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int bin = static_cast<int>(i);
    values[i] = static_cast<float>((bin_edge(statistics, bin) + bin_edge(statistics, bin + 1)) / 2);
  }
  Tensor rounded = middles;
  golden::apply(rule, rounded);
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double apart =
        static_cast<double>(values[i]) - static_cast<double>(rounded.as<float>()[i]);
    error += static_cast<double>(statistics.bins[i]) * apart * apart;
  }
  return error;
}

golden::Log2Rule log2_rule(const TensorStatistics& statistics, int bits, ClippingRule clipping,
                           ScaleKind kind) {
  const double largest = std::max(std::abs(static_cast<double>(statistics.min)),
                                  std::abs(static_cast<double>(statistics.max)));
  const int exponents = statistics.min < 0 ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  golden::Log2Rule best{.scale = 1, .lo = 1 - exponents, .hi = 0};
  if (largest == 0) return best;
  const bool is_power = kind == ScaleKind::kPowerOfTwo;
  const double first = is_power ? std::exp2(std::nearbyint(std::log2(largest))) : largest;
  double least = 0;
  for (int k = 0; k < kCandidates; k += is_power ? 8 : 1) {
    golden::Log2Rule rule = best;
    rule.scale = float_scale(first * std::exp2(-k / 8.0));
    const double error = squared_error(statistics, rule);
    if (k > 0 && error >= least) continue;
    least = error;
    best.scale = rule.scale;
    if (clipping != ClippingRule::kMse) break;
  }
  return best;
}

}  // namespace

HybridNetwork hybrid_network(const Graph& graph, HybridMode mode,
                             const std::map<std::size_t, LayerWeights>& weights,
                             std::vector<std::optional<TensorRule>> rules) {
  HybridNetwork network{graph, std::move(rules), {}};
  for (const auto& [index, own] : weights) {
    Layer& layer = network.graph.layers[index];
    if (!own.weights) continue;
    RealLayerWeights integers = integers_of(layer, *own.weights, mode);
    set_layer(layer.operation, integers, own);
    network.weights.emplace(index, std::move(integers));
  }
  return network;
}

std::vector<std::optional<TensorRule>> log2_rules(const TensorQuantizations& tensors,
                                                  const std::vector<TensorStatistics>& statistics,
                                                  int bits, ClippingRule clipping, ScaleKind kind) {
  if (bits < kLeastBits || bits > kMostBits) {
    throw_bad_input("activations that are powers of two have " + std::to_string(bits) +
                    " bits; expected 2 to 5");
  }
  std::vector<std::optional<TensorRule>> rules(tensors.size());
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    if (tensors[id]) rules[id] = log2_rule(statistics[id], bits, clipping, kind);
  }
  return rules;
}

}  // namespace qsim::quantize
