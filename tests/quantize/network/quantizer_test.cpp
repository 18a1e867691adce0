// The Graph that the quantizer makes, run by golden, against the float network in plain loops: each
// layer from the very integers that it reads, and the whole.
#include "quantize/quantizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "golden/cpu/graph_executor.h"
#include "tests/quantize/network/plain_network.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {
namespace {

constexpr ImageShape kPicture{1, 8, 8, 3};

Scheme scheme_of_type(bool is_unsigned, ScaleKind kind = ScaleKind::kFloat) {
  Scheme scheme;
  scheme.all.activations.is_unsigned = is_unsigned;
  scheme.all.kind = kind;
  scheme.input = scheme.all;
  return scheme;
}

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

const RealLayer& real_layer(const RealGraph& graph, const std::string& name) {
  for (const RealLayer& layer : graph.layers) {
    if (layer.name == name) return layer;
  }
  throw InternalError("no layer " + name);
}

struct Clamp {
  int lo;
  int hi;
};
Clamp clamp_of(const Operation& operation, const Value& output) {
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

// What a test looks at.
struct Judged {
  QuantizedNetwork network;
  std::vector<Tensor> levels;          // by layer of the Graph
  std::vector<PlainTensor> reals;      // by tensor of the RealGraph
  std::vector<PlainTensor> quantized;  // by tensor of the Graph, in real numbers
};

// Each level of a layer is within half a level of the real number, and what a bias of int32 and
// float32 rounding add to it.
void expect_layers_are_near(const RealGraph& graph, const Judged& run) {
  const Graph& made = run.network.graph;
  for (std::size_t i = 0; i < made.layers.size(); ++i) {
    const Layer& layer = made.layers[i];
    if (layer.name.find("/requantize") != std::string::npos) continue;
    std::vector<PlainTensor> inputs;
    for (const TensorId id : layer.inputs) inputs.push_back(run.quantized[id]);
    const Value& output = made.output_of(i);
    const PlainTensor expected =
        plain_layer(real_layer(graph, layer.name).operation, inputs, output.shape,
                    weights_of(layer.operation, run.network.weights[i]));
    const Clamp clamp = clamp_of(layer.operation, output);
    const std::vector<int> levels = levels_of(run.levels[i]);
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const double real = expected.values[at] / double{output.scale->real()} + output.zero_point;
      const double bounded = std::clamp(real, double(clamp.lo), double(clamp.hi));
      ASSERT_LE(std::abs(levels[at] - bounded), 0.51) << layer.name << " at " << at;
    }
  }
}

Judged run_of(SampleNetwork& sample, const Scheme& scheme) {
  validate(sample.graph());
  Judged run;
  const PlainTensor picture = sample.picture();
  run.reals = plain_run(sample.graph(), picture);
  run.network = quantize_network(
      sample.graph(), quantize_tensors(sample.graph(), plain_statistics(run.reals), scheme),
      scheme);
  const Graph& graph = run.network.graph;
  validate(graph);
  const Tensor input = plain_levels(picture, graph.input_value());
  run.levels = golden::run_graph(graph, input, golden::Path::kPlain);
  run.quantized.push_back(plain_reals(input, graph.input_value()));
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    run.quantized.push_back(plain_reals(run.levels[i], graph.output_of(i)));
  }
  expect_layers_are_near(sample.graph(), run);
  return run;
}

// Signal to quantization noise of the output, in dB.
double output_sqnr(const Judged& run) {
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

using Names = std::vector<std::string>;

void build_chain(SampleNetwork& net) {
  TensorId at = net.relu(net.conv(0, 8));
  at = net.max_pool(net.relu(net.conv(at, 8)));
  at = net.relu(net.linear(net.flatten(at), 16));
  net.linear(at, 10);
}

void build_branches(SampleNetwork& net) {
  const TensorId stem = net.clip(net.conv(0, 8), 0, 2);
  const TensorId branch = net.conv(net.relu(net.conv(stem, 8, 3, 1, 8)), 8, 1);
  const TensorId sum = net.relu(net.add(branch, stem));
  const TensorId both = net.concat({sum, net.average_pool(net.conv(sum, 4), 1)});
  const TensorId swish = net.activation(both, {.kind = RealActivation::Kind::kHardSwish});
  const TensorId leaky =
      net.activation(net.conv(swish, 6), {.kind = RealActivation::Kind::kLeakyRelu, .alpha = 0.1F});
  const TensorId gate = net.activation(leaky, {.kind = RealActivation::Kind::kSigmoid});
  const TensorId hard = net.activation(
      net.conv(gate, 6), {.kind = RealActivation::Kind::kHardSigmoid, .alpha = 0.2F, .beta = 0.5F});
  const TensorId pooled = net.average_pool(net.average_pool(hard, 3, true), 3);
  net.linear(net.flatten(pooled, Flatten::Order::kHwc), 5);
}

TEST(Quantizer, MakesAChainOfEveryKindOfScaleAndOfBothTypes) {
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
    for (const bool is_unsigned : {true, false}) {
      SampleNetwork net(kPicture);
      build_chain(net);
      const Judged run = run_of(net, scheme_of_type(is_unsigned, kind));
      EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "conv2d", "max_pool", "flatten",
                                                      "fully_connected", "fully_connected"}));
      EXPECT_GT(output_sqnr(run), kind == ScaleKind::kPowerOfTwo ? 24 : 28);
      EXPECT_EQ(run.network.graph.input_value().is_unsigned(), is_unsigned);
      EXPECT_EQ(run.network.real_layers, (std::vector<std::int64_t>{1, 3, 4, 5, 7, 8}));
      EXPECT_TRUE(run.network.graph.host.flat_output);
    }
  }
}

TEST(Quantizer, MakesEveryKindOfLayer) {
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
    for (const bool is_unsigned : {true, false}) {
      SampleNetwork net(kPicture, 7);
      build_branches(net);
      const Judged run = run_of(net, scheme_of_type(is_unsigned, kind));
      EXPECT_EQ(
          operations(run.network.graph),
          (Names{"conv2d", "conv2d", "conv2d", "add", "conv2d", "average_pool", "concat",
                 "lookup_table", "conv2d", "lookup_table", "lookup_table", "conv2d", "lookup_table",
                 "average_pool", "average_pool", "flatten", "fully_connected"}));
      EXPECT_GT(output_sqnr(run), 22);
      EXPECT_EQ(run.network.activations[7]->kind, RealActivation::Kind::kHardSwish);
      EXPECT_EQ(run.network.activations[9]->alpha, 0.1F);
      EXPECT_FALSE(run.network.activations[0].has_value());
    }
  }
}

}  // namespace
}  // namespace qsim::quantize
