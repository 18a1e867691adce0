// Ties the optimised layers to the interface of GraphExecutor.
#include "golden/graph/cpu/optimised_layers.h"

namespace qsim::golden {
UnsignedActivations::UnsignedActivations(const Tensor& tensor, const Value& value)
    : data_(reinterpret_cast<const std::uint8_t*>(tensor.bytes.data())) {
  if (value.is_unsigned()) return;
  copy_.assign(data_, data_ + tensor.bytes.size());
  for (std::uint8_t& byte : copy_) byte ^= kSignBit;
  data_ = copy_.data();
}

LayerValues values_of(const Graph& graph, std::size_t layer) {
  LayerValues values{{}, graph.output_of(layer)};
  for (const TensorId input : graph.layers[layer].inputs) {
    values.inputs.push_back(&graph.tensors[input]);
  }
  return values;
}

std::unique_ptr<LayerExecutor> make_optimised_executor(const Graph& graph, std::size_t layer,
                                                       const VectorKernels& kernels) {
  const LayerValues values = values_of(graph, layer);
  std::unique_ptr<LayerExecutor> made;
  visit_integer(graph.layers[layer].operation, [&](const auto& operation) {
    made =
        make_layer(operation, {*values.inputs[0], *values.inputs.back(), values.output, kernels});
  });
  return made;
}

}  // namespace qsim::golden
