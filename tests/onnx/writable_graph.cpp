#include "tests/onnx/writable_graph.h"

#include "core/base/error.h"

namespace qsim {
namespace {

// What may come back otherwise.
[[noreturn]] void refuse(const Layer& layer, const std::string& what) {
  throw_unsupported("layer '" + layer.name + "': a round trip has no " + what);
}

void check_window(const Layer& layer, const Window& window) {
  if (window.dilation_h != 1 || window.dilation_w != 1) refuse(layer, "dilation");
}

void check_weights(const Layer& layer, const Tensor& weights,
                   const Requantization& requantization) {
  if (weights.dtype != DType::kInt8) refuse(layer, "weights of int16");
  if (requantization.is_dyadic()) refuse(layer, "scales but powers of two");
}

void check_layer(const Layer& layer, TensorId last) {
  if (layer.inputs != std::vector<TensorId>{last}) refuse(layer, "branches");
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    if (conv->groups != 1) refuse(layer, "groups");
    check_window(layer, conv->window);
    check_weights(layer, conv->weights, conv->requantization);
  } else if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
    check_weights(layer, fc->weights, fc->requantization);
  } else if (const auto* pool = std::get_if<MaxPool>(&layer.operation)) {
    check_window(layer, pool->window);
  }
}

}  // namespace

void check_writable(const Graph& graph) {
  TensorId last = graph.input;
  for (const Layer& layer : graph.layers) {
    check_layer(layer, last);
    last = layer.output;
  }
  for (const Value& tensor : graph.tensors) {
    if (tensor.scale && !tensor.scale_exponent()) {
      throw_unsupported("a round trip has no scales but powers of two");
    }
  }
  if (!graph.host.tail.is_empty()) throw_unsupported("a round trip has no Softmax and ArgMax");
}

}  // namespace qsim
