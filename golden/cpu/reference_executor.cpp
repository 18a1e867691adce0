// Ties the plain loops to the interface of GraphExecutor.
#include "golden/cpu/layer_executor.h"
#include "golden/cpu/reference_layers.h"

namespace qsim::golden {
namespace {

class ReferenceExecutor : public LayerExecutor {
 public:
  ReferenceExecutor(const Graph& graph, std::size_t layer)
      : operation_(graph.layers[layer].operation),
        input_(graph.input_of(layer)),
        second_input_(graph.tensors[graph.layers[layer].inputs.back()]),
        output_(graph.output_of(layer)) {}

  void run(Operands inputs, Tensor& output) const override {
    output =
        std::visit([&](const auto& operation) { return run_as(operation, inputs); }, operation_);
  }

 private:
  Tensor run_as(const Conv2d& conv, Operands inputs) const {
    return reference_conv2d(conv, input_, output_, *inputs[0]);
  }
  Tensor run_as(const FullyConnected& fc, Operands inputs) const {
    return reference_fully_connected(fc, input_, output_, *inputs[0]);
  }
  Tensor run_as(const MaxPool& pool, Operands inputs) const {
    return reference_max_pool(pool, input_, output_, *inputs[0]);
  }
  Tensor run_as(const AveragePool& pool, Operands inputs) const {
    return reference_average_pool(pool, input_, output_, *inputs[0]);
  }
  Tensor run_as(const Add& add, Operands inputs) const {
    return reference_add(add, input_, second_input_, output_, *inputs[0], *inputs[1]);
  }
  Tensor run_as(const Concat&, Operands inputs) const { return reference_concat(output_, inputs); }
  Tensor run_as(const LookupTable& table, Operands inputs) const {
    return reference_lookup_table(table, output_, *inputs[0]);
  }
  Tensor run_as(const PRelu& prelu, Operands inputs) const {
    return reference_prelu(prelu, input_, output_, *inputs[0]);
  }
  Tensor run_as(const Relu&, Operands inputs) const { return reference_relu(output_, *inputs[0]); }
  Tensor run_as(const Flatten& flatten, Operands inputs) const {
    return reference_flatten(flatten, input_, output_, *inputs[0]);
  }

  const Operation& operation_;
  const Value& input_;
  const Value& second_input_;  // of two operands
  const Value& output_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_reference_executor(const Graph& graph, std::size_t layer) {
  return std::make_unique<ReferenceExecutor>(graph, layer);
}

}  // namespace qsim::golden
