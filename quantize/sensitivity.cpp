#include "quantize/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/fake_network.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

// Of the weights' root mean square: how far a probe of the trace goes.
constexpr double kProbeStep = 0x1.0p-7;
constexpr std::uint64_t kProbeSeed = 1;
constexpr std::int64_t kBatch = 16;  // pictures whose tensors are in memory at once

double squared_distance(const Tensor& a, const Tensor& b) {
  const auto first = a.as<float>();
  const auto second = b.as<float>();
  double sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double difference = static_cast<double>(first[i]) - static_cast<double>(second[i]);
    sum += difference * difference;
  }
  return sum;
}

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.as<float>())
    sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(tensor.elems()));
}

// In parts of kBatch.
std::vector<Tensor> batches_of(const Tensor& pictures) {
  const std::size_t each = pictures.bytes.size() / static_cast<std::size_t>(pictures.shape[0]);
  std::vector<Tensor> batches;
  auto from = pictures.bytes.begin();
  for (std::int64_t first = 0; first < pictures.shape[0]; first += kBatch) {
    Shape shape = pictures.shape;
    shape[0] = std::min(kBatch, pictures.shape[0] - first);
    batches.emplace_back(DType::kFloat32, shape);
    std::copy_n(from, batches.back().bytes.size(), batches.back().bytes.begin());
    from += static_cast<std::ptrdiff_t>(each) * shape[0];
  }
  return batches;
}

class Sensitivities {
 public:
  Sensitivities(const Graph& graph, const Scheme& scheme, const Tensor& pictures,
                golden::ThreadTeam& team)
      : graph_(graph), pictures_(batches_of(pictures)), team_(team) {
    const golden::RealExecutor executor(graph);
    for (const Tensor& batch : pictures_) {
      outputs_.push_back(executor.run(batch, team));
      output_elems_ += outputs_.back().elems();
    }
    std::map<std::size_t, int> bits;
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      if (weights_of(graph.layers[i].operation)) bits[i] = 0;
    }
    const TensorQuantizations none(graph.tensors.size());
    for (const int count : kWeightBits) {
      for (auto& [layer, each] : bits) each = count;
      quantized_[count] = weights_of_layers(graph, none, with_weight_bits(graph, scheme, bits));
    }
  }

  LayerSensitivity of(std::size_t layer, SensitivityRule rule) {
    LayerSensitivity result{.layer = layer, .weights = real(layer).elems(), .at = {}};
    const double trace = rule == SensitivityRule::kTrace ? mean_of_diagonal(layer) : 0;
    for (const int bits : kWeightBits) {
      const QuantizedWeights& rounded = *quantized_[bits].at(layer).weights;
      const double error = rule == SensitivityRule::kTrace
                               ? trace * squared_distance(dequantize(rounded), real(layer))
                               : error_with(layer, dequantize(rounded));
      result.at[bits] = error / static_cast<double>(output_elems_);
    }
    return result;
  }

 private:
  const Tensor& real(std::size_t layer) const {
    return *weights_of(graph_.layers[layer].operation)->weights;
  }

  // The squared error of the output with these weights.
  double error_with(std::size_t layer, const Tensor& weights) {
    Graph changed = graph_;
    *weights_of(changed.layers[layer].operation)->weights = weights;
    const golden::RealExecutor executor(changed);
    double sum = 0;
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      sum += squared_distance(executor.run(pictures_[i], team_), outputs_[i]);
    }
    return sum;
  }

  // Of J^T J.
  double mean_of_diagonal(std::size_t layer) {
    const double step = kProbeStep * root_mean_square(real(layer));
    if (step == 0) return 0;
    Random random(kProbeSeed);
    double trace = 0;
    for (int probe = 0; probe < kTraceProbes; ++probe) {
      Tensor weights = real(layer);
      for (float& weight : weights.as<float>()) {
        weight += static_cast<float>((random.next() >> 63) != 0 ? step : -step);
      }
      trace += error_with(layer, weights) / (step * step);
    }
    return trace / kTraceProbes / static_cast<double>(real(layer).elems());
  }

  const Graph& graph_;
  std::vector<Tensor> pictures_;
  golden::ThreadTeam& team_;
  std::vector<Tensor> outputs_;  // of the float network, one a part of the pictures
  std::int64_t output_elems_ = 0;
  std::map<int, std::map<std::size_t, LayerWeights>> quantized_;  // by bits
};

}  // namespace

std::string_view sensitivity_name(SensitivityRule rule) {
  return rule == SensitivityRule::kMse ? "mse" : "trace";
}

Scheme with_weight_bits(const Graph& graph, const Scheme& scheme,
                        const std::map<std::size_t, int>& bits) {
  Scheme result = scheme;
  for (const auto& [layer, count] : bits) {
    const std::string& name = graph.layers[layer].name;
    LayerScheme own = scheme_of(scheme, name);
    own.weights.levels.bits = count;
    result.layers.insert_or_assign(name, std::move(own));
  }
  return result;
}

std::vector<LayerSensitivity> sensitivities(const Graph& graph, const Scheme& scheme,
                                            const Tensor& pictures, SensitivityRule rule,
                                            golden::ThreadTeam& team,
                                            const std::function<void(std::size_t)>& on_layer) {
  Sensitivities all(graph, scheme, pictures, team);
  std::vector<LayerSensitivity> result;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (!weights_of(graph.layers[i].operation)) continue;
    result.push_back(all.of(i, rule));
    if (on_layer) on_layer(result.size());
  }
  return result;
}

}  // namespace qsim::quantize
