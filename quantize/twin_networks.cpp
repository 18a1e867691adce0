#include "quantize/twin_networks.h"

#include <algorithm>
#include <utility>

#include "golden/real/real_executor.h"

namespace qsim::quantize {
namespace {

// The index of the last layer that reads each tensor; of one that nobody reads, the layer count.
std::vector<std::size_t> last_readers_of(const RealGraph& graph) {
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

}  // namespace

TwinNetworks::TwinNetworks(const RealGraph& graph,
                           std::vector<std::optional<golden::TensorRule>> rules, Tensor pictures,
                           golden::ThreadTeam& team)
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

Tensor TwinNetworks::run(const RealOperation& operation, const std::vector<Tensor>& tensors) {
  const RealLayer& layer = graph_.layers[next_];
  std::vector<const Tensor*> operands;
  for (const TensorId input : layer.inputs) operands.push_back(&tensors[input]);
  if (std::holds_alternative<RealAdd>(operation)) return sum_of(*operands[0], *operands[1]);
  if (std::holds_alternative<RealConcat>(operation)) return concatenation(operands);
  RealGraph single;
  single.name = layer.name;
  single.tensors[0] = graph_.tensors[layer.inputs[0]];
  append(single, layer.name, operation, {0}, graph_.tensors[layer.output], layer.source);
  single.host = {.float_input = true, .float_output = true};
  return golden::RealExecutor(single).run(*operands[0], team_);
}

void TwinNetworks::compute(const RealOperation& operation) {
  const RealLayer& layer = graph_.layers[next_];
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
  const RealLayer& layer = graph_.layers[next_];
  if (rules_[layer.output]) golden::apply(*rules_[layer.output], quantized_[layer.output]);
  for (const TensorId input : layer.inputs) {
    if (last_readers_[input] != next_) continue;
    float_[input] = {};
    quantized_[input] = {};
  }
  ++next_;
}

std::int64_t twin_bytes(const RealGraph& graph) {
  const std::vector<std::size_t> last = last_readers_of(graph);
  const auto bytes_of = [&](TensorId tensor) {
    const ImageShape& shape = graph.tensors[tensor];
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

}  // namespace qsim::quantize
