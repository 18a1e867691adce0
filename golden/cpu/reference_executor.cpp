// Ties the plain loops to the interface of GraphExecutor.
#include "golden/cpu/layer_executor.h"
#include "golden/cpu/reference_layers.h"

namespace qsim::golden {
namespace {

class ReferenceExecutor : public LayerExecutor {
 public:
  ReferenceExecutor(const Layer& layer, const Value& input) : layer_(layer), input_(input) {}

  void run(const Tensor& input, Tensor& output) const override {
    output = std::visit([&](const auto& operation) { return run_as(operation, input); },
                        layer_.operation);
  }

 private:
  Tensor run_as(const Conv2d& conv, const Tensor& input) const {
    return reference_conv2d(conv, input_, layer_.output, input);
  }
  Tensor run_as(const FullyConnected& fc, const Tensor& input) const {
    return reference_fully_connected(fc, input_, layer_.output, input);
  }
  Tensor run_as(const MaxPool& pool, const Tensor& input) const {
    return reference_max_pool(pool, input_, layer_.output, input);
  }
  Tensor run_as(const Relu&, const Tensor& input) const {
    return reference_relu(layer_.output, input);
  }
  Tensor run_as(const Flatten& flatten, const Tensor& input) const {
    return reference_flatten(flatten, input_, layer_.output, input);
  }

  const Layer& layer_;
  const Value& input_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_reference_executor(const Layer& layer, const Value& input) {
  return std::make_unique<ReferenceExecutor>(layer, input);
}

}  // namespace qsim::golden
