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
        output_(graph.output_of(layer)) {}

  void run(Operands inputs, Tensor& output) const override {
    output = std::visit([&](const auto& operation) { return run_as(operation, *inputs[0]); },
                        operation_);
  }

 private:
  Tensor run_as(const Conv2d& conv, const Tensor& input) const {
    return reference_conv2d(conv, input_, output_, input);
  }
  Tensor run_as(const FullyConnected& fc, const Tensor& input) const {
    return reference_fully_connected(fc, input_, output_, input);
  }
  Tensor run_as(const MaxPool& pool, const Tensor& input) const {
    return reference_max_pool(pool, input_, output_, input);
  }
  Tensor run_as(const Relu&, const Tensor& input) const { return reference_relu(output_, input); }
  Tensor run_as(const Flatten& flatten, const Tensor& input) const {
    return reference_flatten(flatten, input_, output_, input);
  }

  const Operation& operation_;
  const Value& input_;
  const Value& output_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_reference_executor(const Graph& graph, std::size_t layer) {
  return std::make_unique<ReferenceExecutor>(graph, layer);
}

}  // namespace qsim::golden
