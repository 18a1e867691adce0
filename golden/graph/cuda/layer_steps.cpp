// What the steps of a plan read, write and compute: the questions that
// golden/graph/cuda/layer_plan.h answers of a step. layer_plan.cpp makes the steps.
#include "golden/graph/cuda/layer_plan.h"

namespace qsim::golden::cuda {

std::vector<StepTensors> step_tensors(std::span<const Step> steps) {
  std::vector<StepTensors> tensors;
  for (const Step& step : steps) tensors.push_back({step.inputs, step.output});
  return tensors;
}

std::span<const std::int8_t> weights_of(const Graph& graph, const Step& step) {
  if (!step.own_weights.empty()) return step.own_weights;
  const Operation& operation = graph.layers[step.weights_layer].operation;
  const auto* conv = std::get_if<Conv2d>(&operation);
  const Tensor& weights =
      conv != nullptr ? conv->weights : std::get<FullyConnected>(operation).weights;
  return weights.as<std::int8_t>();
}

std::span<const std::int32_t> bias_of(const Graph& graph, const Step& step) {
  const Operation& operation = graph.layers[step.weights_layer].operation;
  const auto* conv = std::get_if<Conv2d>(&operation);
  const Tensor& bias = conv != nullptr ? conv->bias : std::get<FullyConnected>(operation).bias;
  return bias.as<std::int32_t>();
}

std::string layer_names(const Graph& graph, const Step& step) {
  std::string names;
  for (const std::size_t layer : step.layers) {
    names += (names.empty() ? "" : "+") + graph.layers[layer].name;
  }
  return names;
}

std::int64_t step_macs(const Graph& graph, const Step& step) {
  return step.kind == StepKind::kConv ? layer_macs(graph, step.weights_layer) : 0;
}

std::int64_t step_bytes(const Graph& graph, const Step& step) {
  std::int64_t bytes = element_count(step.result.shape.nhwc());
  for (const TensorId input : step.inputs) {
    bytes += element_count(graph.tensors[input].shape.nhwc());
  }
  if (step.kind == StepKind::kConv) {
    bytes += static_cast<std::int64_t>(weights_of(graph, step).size_bytes() +
                                       bias_of(graph, step).size_bytes());
  }
  return bytes;
}

}  // namespace qsim::golden::cuda
