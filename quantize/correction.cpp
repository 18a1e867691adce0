#include "quantize/correction.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/real_executor.h"
#include "golden/graph/real/real_rules.h"
#include "quantize/bias_correction.h"
#include "quantize/fake_network.h"
#include "quantize/fusion.h"
#include "quantize/layer_inputs.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

// The float network and the quantized one (in fake quantization) side by side, a layer at a time,
// on the same pictures: so that what is decided for one layer is seen by the layers after it, and
// every layer is computed once.
class TwinNetworks {
 public:
  // `rules`: one a tensor, of the quantized network. `pictures`: float32 [N][H][W][C].
  TwinNetworks(const Graph& graph, std::vector<std::optional<golden::TensorRule>> rules,
               Tensor pictures, golden::ThreadTeam& team);

  // What the next layer reads in both networks (its first operand).
  std::size_t next_layer() const { return next_; }
  bool at_end() const { return next_ == graph_.layers.size(); }
  const Tensor& float_input() const { return float_[graph_.layers[next_].inputs[0]]; }
  const Tensor& quantized_input() const { return quantized_[graph_.layers[next_].inputs[0]]; }

  // Computes the next layer in both networks, in the quantized one as `operation` (its weights
  // rounded), without the rule of its output.
  void compute(const Operation& operation);
  const Tensor& float_output() const { return float_[graph_.layers[next_].output]; }
  const Tensor& quantized_output() const { return quantized_[graph_.layers[next_].output]; }
  // Adds a number to each channel of quantized_output().
  void shift(const std::vector<float>& by_channel);
  // Applies the rule, frees what nobody reads any more, and goes to the layer after.
  void advance();

 private:
  Tensor run(const Operation& operation, const std::vector<Tensor>& tensors);

  const Graph& graph_;
  std::vector<std::optional<golden::TensorRule>> rules_;
  golden::ThreadTeam& team_;
  std::vector<Tensor> float_;  // by tensor; of no bytes where nobody reads it
  std::vector<Tensor> quantized_;
  std::vector<std::size_t> last_readers_;
  std::size_t next_ = 0;
};

// The index of the last layer that reads each tensor; of one that nobody reads, the layer count.
std::vector<std::size_t> last_readers_of(const Graph& graph) {
  std::vector<std::size_t> last(graph.tensors.size(), graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    for (const TensorId input : graph.layers[i].inputs) last[input] = i;
  }
  return last;
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor sum = a;
  const auto other = b.as<float>();
  const auto values = sum.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
  return sum;
}

Tensor concatenation(const std::vector<const Tensor*>& operands) {
  Shape shape = operands[0]->shape;
  shape[3] = 0;
  for (const Tensor* operand : operands) shape[3] += operand->shape[3];
  Tensor result(DType::kFloat32, shape);
  float* to = result.as<float>().data();
  const std::int64_t pixels = shape[0] * shape[1] * shape[2];
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (const Tensor* operand : operands) {
      const std::int64_t channels = operand->shape[3];
      to = std::copy_n(operand->as<float>().data() + pixel * channels, channels, to);
    }
  }
  return result;
}

TwinNetworks::TwinNetworks(const Graph& graph, std::vector<std::optional<golden::TensorRule>> rules,
                           Tensor pictures, golden::ThreadTeam& team)
    : graph_(graph),
      rules_(std::move(rules)),
      team_(team),
      float_(graph.tensors.size()),
      quantized_(graph.tensors.size()),
      last_readers_(last_readers_of(graph)) {
  quantized_[graph.input] = pictures;
  float_[graph.input] = std::move(pictures);
  if (rules_[graph.input]) golden::apply(*rules_[graph.input], quantized_[graph.input]);
}

Tensor TwinNetworks::run(const Operation& operation, const std::vector<Tensor>& tensors) {
  const Layer& layer = graph_.layers[next_];
  std::vector<const Tensor*> operands;
  for (const TensorId input : layer.inputs) operands.push_back(&tensors[input]);
  if (std::holds_alternative<Add>(operation)) return sum_of(*operands[0], *operands[1]);
  if (std::holds_alternative<Concat>(operation)) return concatenation(operands);
  Graph single;
  single.name = layer.name;
  single.tensors[0] = graph_.tensors[layer.inputs[0]];
  append(single, layer.name, operation, {0}, graph_.tensors[layer.output], layer.source);
  single.host = {.float_input = true, .float_output = true};
  return golden::RealExecutor(single).run(*operands[0], team_);
}

void TwinNetworks::compute(const Operation& operation) {
  const Layer& layer = graph_.layers[next_];
  float_[layer.output] = run(layer.operation, float_);
  quantized_[layer.output] = run(operation, quantized_);
}

void TwinNetworks::shift(const std::vector<float>& by_channel) {
  const auto values = quantized_[graph_.layers[next_].output].as<float>();
  for (std::size_t i = 0; i < values.size();) {
    for (const float each : by_channel) values[i++] += each;
  }
}

void TwinNetworks::advance() {
  const Layer& layer = graph_.layers[next_];
  if (rules_[layer.output]) golden::apply(*rules_[layer.output], quantized_[layer.output]);
  for (const TensorId input : layer.inputs) {
    if (last_readers_[input] != next_) continue;
    float_[input] = {};
    quantized_[input] = {};
  }
  ++next_;
}

// The bytes that TwinNetworks needs for one picture.
std::int64_t twin_bytes(const Graph& graph) {
  const std::vector<std::size_t> last = last_readers_of(graph);
  const auto bytes_of = [&](TensorId tensor) {
    const ImageShape& shape = graph.tensors[tensor].shape;
    return shape.height * shape.width * shape.channels * std::int64_t{2 * sizeof(float)};
  };
  std::int64_t live = bytes_of(graph.input);
  std::int64_t most = live;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    live += bytes_of(graph.layers[i].output);
    most = std::max(most, live);
    std::vector<TensorId> inputs = graph.layers[i].inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const TensorId input : inputs) live -= last[input] == i ? bytes_of(input) : 0;
  }
  return most;
}

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
  Corrector(const Graph& graph, const Scheme& scheme, const Corrections& corrections,
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
  const Layer& layer() const { return graph_.layers[twins_.next_layer()]; }

  double error() const {
    return mean_squared_difference(twins_.float_output(), twins_.quantized_output());
  }

  Operation with(const LayerWeights& decided) const {
    Operation operation = layer().operation;
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
    ImageShape output = graph_.tensors[layer().output].shape;
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

  const Graph& graph_;
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

CorrectedWeights correct_layers(const Graph& graph, const TensorQuantizations& tensors,
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
