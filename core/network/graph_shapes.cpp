#include "core/network/graph_shapes.h"

namespace qsim {
namespace {

// Calls visit for the weights and the bias of a layer that has them.
template <typename Visit>
void for_each_tensor(const Layer& layer, Visit visit) {
  std::visit(
      [&](const auto& operation) {
        if constexpr (requires { operation.weights; }) {
          visit(operation.weights);
          visit(operation.bias);
        }
      },
      layer.operation);
}

Operation shapes_of(const Conv2d& conv) {
  return Conv2d{conv.window, shape_alone(conv.weights.dtype, conv.weights.shape),
                shape_alone(conv.bias.dtype, conv.bias.shape), conv.requantization, conv.groups};
}
Operation shapes_of(const FullyConnected& fc) {
  return FullyConnected{shape_alone(fc.weights.dtype, fc.weights.shape),
                        shape_alone(fc.bias.dtype, fc.bias.shape), fc.requantization};
}
template <typename Other>
Operation shapes_of(const Other& operation) {
  return operation;
}

}  // namespace

Tensor shape_alone(DType dtype, Shape shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  return tensor;
}

Graph without_tensors(const Graph& graph) {
  Graph shapes;
  shapes.name = graph.name;
  shapes.tensors = graph.tensors;
  shapes.input = graph.input;
  shapes.output = graph.output;
  shapes.host = graph.host;
  for (const Layer& layer : graph.layers) {
    const auto of_shapes = [](const auto& operation) { return shapes_of(operation); };
    shapes.layers.push_back({layer.name, std::visit(of_shapes, layer.operation), layer.inputs,
                             layer.output, layer.source, layer.tensor});
  }
  return shapes;
}

bool has_tensors(const Graph& graph) {
  std::int64_t whole = 0;
  std::int64_t shapes = 0;
  for (const Layer& layer : graph.layers) {
    for_each_tensor(layer,
                    [&](const Tensor& tensor) { ++(tensor.bytes.empty() ? shapes : whole); });
  }
  QSIM_CHECK(whole == 0 || shapes == 0, graph.name + ": a graph has all its tensors or none");
  return shapes == 0;
}

}  // namespace qsim
