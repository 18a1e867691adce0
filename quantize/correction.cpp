#include "quantize/correction.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "quantize/bias_correction.h"
#include "quantize/fake_network.h"
#include "quantize/fusion.h"
#include "quantize/layer_inputs.h"
#include "quantize/layer_weights.h"
#include "quantize/twin_networks.h"

namespace qsim::quantize {
namespace {

using Clock = std::chrono::steady_clock;

double mean_squared_difference(const Tensor& a, const Tensor& b) {
  const auto first = a.as<float>();
  const auto second = b.as<float>();
  double sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double difference = static_cast<double>(first[i]) - static_cast<double>(second[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(std::max<std::size_t>(first.size(), 1));
}

// Squares of numbers beyond this do not fit float32, nor do their sums over all positions.
constexpr int kMostExponent = 40;

float largest_magnitude(const std::vector<Matrix>& inputs) {
  float largest = 0;
  for (const Matrix& matrix : inputs) {
    for (const float value : matrix.values) {
      if (!std::isfinite(value)) return std::numeric_limits<float>::infinity();
      largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

// Multiplies by 2^exponent.
void scale(std::vector<Matrix>& inputs, int exponent) {
  for (Matrix& matrix : inputs) {
    for (float& value : matrix.values) value = std::ldexp(value, exponent);
  }
}

class Corrector {
 public:
  Corrector(const RealGraph& graph, const Scheme& scheme, const Corrections& corrections,
            TwinNetworks& twins, golden::ThreadTeam& team)
      : graph_(graph),
        scheme_(scheme),
        corrections_(corrections),
        clamps_(graph.layers.size()),
        twins_(twins),
        team_(team) {
    for (const FusedLayer& fused : fuse(graph).layers)
      clamps_[fused.layer] = {fused.low, fused.high};
  }

  // Of the twins' next layer, which has weights; `nearest` becomes what is decided.
  CorrectedLayer correct(LayerWeights& decided) {
    const Clock::time_point begin = Clock::now();
    CorrectedLayer result{.layer = twins_.next_layer()};
    twins_.compute(with(decided));
    result.error_of_nearest = error();
    if (corrections_.rounding != WeightRounding::kNearest) {
      decided.weights = rounded(*decided.weights);
      twins_.compute(with(decided));
    }
    if (corrections_.bias) correct_bias(*decided.bias);
    result.error = error();
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result;
  }

 private:
  const RealLayer& layer() const { return graph_.layers[twins_.next_layer()]; }

  double error() const {
    return mean_squared_difference(twins_.float_output(), twins_.quantized_output());
  }

  RealOperation with(const LayerWeights& decided) const {
    RealOperation operation = layer().operation;
    set_weights(operation, decided);
    return operation;
  }

  QuantizedWeights rounded(const QuantizedWeights& nearest) {
    const Tensor& weights = *weights_of(layer().operation)->weights;
    const LevelGrid grid(scheme_of(scheme_, layer().name).weights);
    const std::vector<RoundingProblem> problems = this->problems();
    return corrections_.rounding == WeightRounding::kLearned
               ? round_adaptively(weights, nearest, grid, problems, corrections_.learned, team_)
               : round_by_gptq(weights, nearest, grid, problems, corrections_.gptq, team_);
  }

  std::vector<RoundingProblem> problems() {
    ImageShape output = graph_.tensors[layer().output];
    output.batch = twins_.float_input().shape[0];
    const auto positions = sample_positions(output, corrections_.positions, corrections_.seed);
    auto real = inputs_at(layer().operation, twins_.float_input(), positions);
    auto quantized = inputs_at(layer().operation, twins_.quantized_input(), positions);
    fit(real, quantized);
    const auto weights = weights_by_group(layer().operation);
    std::vector<RoundingProblem> problems;
    for (std::size_t group = 0; group < weights.size(); ++group) {
      problems.push_back(rounding_problem(weights[group], quantized[group], real[group], team_));
    }
    return problems;
  }

  // The rounding that is best is the same for inputs that are 2^n times as large.
  void fit(std::vector<Matrix>& real, std::vector<Matrix>& quantized) const {
    const float largest = std::max(largest_magnitude(real), largest_magnitude(quantized));
    if (!std::isfinite(largest)) {
      throw_bad_input(layer().source +
                      ": its inputs are beyond float32 when the layers before it are quantized; "
                      "--weight-rounding nearest does without them");
    }
    int exponent = 0;
    std::frexp(largest, &exponent);
    if (exponent <= kMostExponent) return;
    scale(real, kMostExponent - exponent);
    scale(quantized, kMostExponent - exponent);
  }

  void correct_bias(std::vector<float>& bias) {
    std::vector<float> corrected = corrected_bias(
        bias, twins_.float_output(), twins_.quantized_output(), clamps_[twins_.next_layer()]);
    std::vector<float> change(bias.size());
    for (std::size_t c = 0; c < bias.size(); ++c) change[c] = corrected[c] - bias[c];
    twins_.shift(change);
    bias = std::move(corrected);
  }

  const RealGraph& graph_;
  const Scheme& scheme_;
  const Corrections& corrections_;
  std::vector<ClampRange> clamps_;  // by layer of the graph
  TwinNetworks& twins_;
  golden::ThreadTeam& team_;
};

}  // namespace

std::string_view weight_rounding_name(WeightRounding rounding) {
  switch (rounding) {
    case WeightRounding::kNearest:
      return "nearest";
    case WeightRounding::kLearned:
      return "learned";
    case WeightRounding::kGptq:
      return "gptq";
  }
  return "";
}

CorrectedWeights correct_layers(const RealGraph& graph, const TensorQuantizations& tensors,
                                const Scheme& scheme, const CalibrationPictures& pictures,
                                const Corrections& corrections, golden::ThreadTeam& team,
                                const std::function<void(const CorrectedLayer&)>& on_layer) {
  CorrectedWeights result;
  result.weights = weights_of_layers(graph, tensors, scheme);
  result.pictures = std::clamp<std::int64_t>(corrections.most_bytes / twin_bytes(graph), 1,
                                             std::max<std::int64_t>(pictures.count, 1));
  TwinNetworks twins(graph, uniform_rules(tensors), pictures.read(0, result.pictures), team);
  Corrector corrector(graph, scheme, corrections, twins, team);
  for (; !twins.at_end(); twins.advance()) {
    const std::size_t index = twins.next_layer();
    const auto decided = result.weights.find(index);
    if (decided == result.weights.end()) {
      twins.compute(graph.layers[index].operation);
      continue;
    }
    result.layers.push_back(corrector.correct(decided->second));
    if (on_layer) on_layer(result.layers.back());
  }
  return result;
}

}  // namespace qsim::quantize
