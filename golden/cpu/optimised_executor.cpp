// Ties the optimised layers to the interface of GraphExecutor.
#include "golden/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

struct MakeLayer {
  const Value& input;
  const Value& last_input;
  const Value& output;
  const VectorKernels& kernels;

  std::unique_ptr<LayerExecutor> operator()(const Conv2d& conv) const {
    if (is_depthwise(conv, input, output)) return make_depthwise(conv, input, output, kernels);
    return make_conv2d(conv, input, output, kernels);
  }
  std::unique_ptr<LayerExecutor> operator()(const FullyConnected& fc) const {
    return make_fully_connected(fc, input, output, kernels);
  }
  std::unique_ptr<LayerExecutor> operator()(const MaxPool& pool) const {
    return make_max_pool(pool, input, output);
  }
  std::unique_ptr<LayerExecutor> operator()(const Relu&) const { return make_relu(output); }
  std::unique_ptr<LayerExecutor> operator()(const Flatten& flatten) const {
    return make_flatten(flatten, input);
  }
  std::unique_ptr<LayerExecutor> operator()(const AveragePool& pool) const {
    return make_average_pool(pool, input, output, kernels);
  }
  std::unique_ptr<LayerExecutor> operator()(const Add& add) const {
    return make_add(add, input, last_input, output, kernels);
  }
  std::unique_ptr<LayerExecutor> operator()(const Concat&) const { return make_concat(); }
  std::unique_ptr<LayerExecutor> operator()(const LookupTable& table) const {
    return make_lookup_table(table);
  }
  std::unique_ptr<LayerExecutor> operator()(const PRelu& prelu) const {
    return make_prelu(prelu, input, output);
  }
};

}  // namespace

UnsignedActivations::UnsignedActivations(const Tensor& tensor, const Value& value)
    : data_(reinterpret_cast<const std::uint8_t*>(tensor.bytes.data())) {
  if (value.is_unsigned()) return;
  copy_.assign(data_, data_ + tensor.bytes.size());
  for (std::uint8_t& byte : copy_) byte ^= kSignBit;
  data_ = copy_.data();
}

std::unique_ptr<LayerExecutor> make_optimised_executor(const Graph& graph, std::size_t layer,
                                                       const VectorKernels& kernels) {
  const Value& last_input = graph.tensors[graph.layers[layer].inputs.back()];
  return std::visit(MakeLayer{graph.input_of(layer), last_input, graph.output_of(layer), kernels},
                    graph.layers[layer].operation);
}

}  // namespace qsim::golden
