#include "tests/quantize/network/judged_run.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"

namespace qsim::quantize {
namespace {

std::vector<double> weights_of(const Operation& operation, const WeightScales& stored) {
  const Tensor* tensor = nullptr;
  if (const auto* conv = std::get_if<Conv2d>(&operation)) tensor = &conv->weights;
  if (const auto* fc = std::get_if<FullyConnected>(&operation)) tensor = &fc->weights;
  if (tensor == nullptr) return {};
  std::vector<double> reals;
  const auto count = static_cast<std::size_t>(tensor->elems());
  const std::size_t each = count / static_cast<std::size_t>(tensor->shape[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const int level = tensor->dtype == DType::kInt16 ? tensor->as<std::int16_t>()[i]
                                                     : tensor->as<std::int8_t>()[i];
    reals.push_back(level * double{stored.scales[stored.scales.size() == 1 ? 0 : i / each]});
  }
  return reals;
}

const Layer& real_layer(const Graph& graph, const std::string& name) {
  for (const Layer& layer : graph.layers) {
    if (layer.name == name) return layer;
  }
  throw InternalError("no layer " + name);
}

struct Clamp {
  int lo;
  int hi;
};
// A table but that of a Clip, which keeps the levels of what it reads, has the levels of the
// scheme.
Clamp clamp_of(const Operation& operation, bool is_activation, const Levels& levels,
               const Value& output) {
  if (is_activation) return {levels.lo(), levels.hi()};
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    return {conv->requantization.lo, conv->requantization.hi};
  }
  if (const auto* fc = std::get_if<FullyConnected>(&operation)) {
    return {fc->requantization.lo, fc->requantization.hi};
  }
  if (const auto* add = std::get_if<Add>(&operation)) return {add->lo, add->hi};
  if (const auto* pool = std::get_if<AveragePool>(&operation)) return {pool->lo, pool->hi};
  return {output.min(), output.max()};
}

// Half a unit of the int32 bias, in levels of the ofmap.
double half_bias_unit(const Graph& graph, std::size_t layer, const WeightScales& stored) {
  if (stored.scales.empty()) return 0;
  const double ratio =
      double{graph.input_of(layer).scale->real()} / double{graph.output_of(layer).scale->real()};
  return 0.5 * ratio * double{*std::ranges::max_element(stored.scales)};
}

// Each level of a layer is within half a level of the real number, and what a bias of int32 and
// float32 rounding add to it.
void expect_layers_are_near(const Graph& graph, const Levels& levels_of_activations,
                            const JudgedRun& run) {
  const Graph& made = run.network.graph;
  for (std::size_t i = 0; i < made.layers.size(); ++i) {
    const Layer& layer = made.layers[i];
    if (layer.name.find("/requantize") != std::string::npos) continue;
    // What cuts a PRelu's levels off has its name, and its scale.
    if (i > 0 && made.layers[i - 1].name == layer.name + "/uncut") continue;
    const std::string name = layer.name.substr(0, layer.name.find("/uncut"));
    std::vector<PlainTensor> inputs;
    for (const TensorId id : layer.inputs) inputs.push_back(run.quantized[id]);
    const Value& output = made.output_of(i);
    const PlainTensor expected =
        plain_layer(real_layer(graph, name).operation, inputs, output.shape,
                    weights_of(layer.operation, run.network.weights[i]));
    const auto& activation = run.network.activations[i];
    const bool is_activation = activation && activation->kind != Activation::Kind::kClip;
    const Clamp clamp = clamp_of(layer.operation, is_activation, levels_of_activations, output);
    const double bound = 0.5 + 1e-3 + half_bias_unit(made, i, run.network.weights[i]);
    const std::vector<int> levels = levels_of(run.levels[i]);
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const double real = expected.values[at] / double{output.scale->real()} + output.zero_point;
      const double bounded = std::clamp(real, double(clamp.lo), double(clamp.hi));
      ASSERT_LE(std::abs(levels[at] - bounded), bound) << layer.name << " at " << at;
    }
  }
}

}  // namespace

Scheme scheme_of_type(bool is_unsigned, ScaleKind kind) {
  Scheme scheme;
  scheme.all.activations.is_unsigned = is_unsigned;
  scheme.all.kind = kind;
  scheme.input = scheme.all;
  return scheme;
}

JudgedRun run_of(SampleNetwork& sample, const Scheme& scheme,
                 const std::map<std::size_t, LayerWeights>& decided) {
  validate(sample.graph());
  JudgedRun run;
  const PlainTensor picture = sample.picture();
  run.reals = plain_run(sample.graph(), picture);
  run.quantizations = quantize_tensors(sample.graph(), plain_statistics(run.reals), scheme);
  run.network = quantize_network(sample.graph(), run.quantizations, scheme, decided);
  const Graph& graph = run.network.graph;
  validate(graph);
  const Tensor input = plain_levels(picture, graph.input_value());
  run.levels = golden::run_graph(graph, input, golden::Path::kPlain);
  run.quantized.push_back(plain_reals(input, graph.input_value()));
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    run.quantized.push_back(plain_reals(run.levels[i], graph.output_of(i)));
  }
  expect_layers_are_near(sample.graph(), scheme.all.activations, run);
  return run;
}

double output_sqnr(const JudgedRun& run) {
  const std::vector<double>& real = run.reals.back().values;
  const std::vector<double>& quantized = run.quantized.back().values;
  EXPECT_EQ(real.size(), quantized.size());
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    signal += real[i] * real[i];
    noise += (real[i] - quantized[i]) * (real[i] - quantized[i]);
  }
  EXPECT_GT(signal, 0);
  return 10 * std::log10(signal / noise);
}

std::vector<std::string> operations(const Graph& graph) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) names.emplace_back(operation_name(layer.operation));
  return names;
}

}  // namespace qsim::quantize
