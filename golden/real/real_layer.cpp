#include "golden/real/real_layer.h"

#include <algorithm>

#include "golden/real/reference_layers.h"

namespace qsim::golden {
namespace {

// Elements below which starting a thread costs more than it saves.
constexpr std::int64_t kLeastPart = 16384;

class PlainLayer : public RealLayerRunner {
 public:
  explicit PlainLayer(const Layer& layer) : layer_(layer) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam&) const override {
    std::visit([&](const auto& operation) { compute(operation, operands, output); },
               layer_.operation);
  }

 private:
  static void compute(const Conv2d& conv, RealOperands x, Tensor& y) {
    reference_conv2d(conv, *x[0], y);
  }
  static void compute(const FullyConnected& linear, RealOperands x, Tensor& y) {
    reference_linear(linear, *x[0], y);
  }
  static void compute(const MaxPool& pool, RealOperands x, Tensor& y) {
    reference_max_pool(pool, *x[0], y);
  }
  static void compute(const AveragePool& pool, RealOperands x, Tensor& y) {
    reference_average_pool(pool, *x[0], y);
  }
  static void compute(const Add&, RealOperands x, Tensor& y) { reference_add(*x[0], *x[1], y); }
  static void compute(const Concat&, RealOperands x, Tensor& y) {
    reference_concat({x.begin(), x.end()}, y);
  }
  static void compute(const Activation& activation, RealOperands x, Tensor& y) {
    reference_activation(activation, *x[0], y);
  }
  static void compute(const PRelu& prelu, RealOperands x, Tensor& y) {
    reference_prelu(prelu, *x[0], y);
  }
  static void compute(const Flatten& flatten, RealOperands x, Tensor& y) {
    reference_flatten(flatten, *x[0], y);
  }

  const Layer& layer_;
};

struct MakeOptimised {
  std::int64_t input_channels;
  const ProductKernels& kernels;

  RealRunner operator()(const Conv2d& conv) const {
    const bool depthwise =
        conv.groups > 1 && conv.groups == input_channels && conv.weights.shape[0] == input_channels;
    return depthwise ? make_depthwise(conv, kernels) : make_conv2d(conv, kernels);
  }
  RealRunner operator()(const FullyConnected& linear) const { return make_linear(linear, kernels); }
  RealRunner operator()(const MaxPool& pool) const { return make_max_pool(pool); }
  RealRunner operator()(const AveragePool& pool) const { return make_average_pool(pool); }
  RealRunner operator()(const Add&) const { return make_add(); }
  RealRunner operator()(const Concat&) const { return make_real_concat(); }
  RealRunner operator()(const Activation& a) const { return make_activation(a); }
  RealRunner operator()(const PRelu& prelu) const { return make_prelu(prelu); }
  RealRunner operator()(const Flatten& flatten) const { return make_flatten(flatten); }
};

}  // namespace

RealRunner make_plain_layer(const Layer& layer) { return std::make_unique<PlainLayer>(layer); }

RealRunner make_optimised_layer(const Graph& graph, const Layer& layer,
                                const ProductKernels& kernels) {
  const std::int64_t channels = graph.tensors[layer.inputs[0]].channels;
  return std::visit(MakeOptimised{channels, kernels}, layer.operation);
}

void divide(ThreadTeam& team, std::int64_t count, std::int64_t cost,
            const std::function<void(std::int64_t, std::int64_t)>& work) {
  const std::int64_t useful = count * cost / kLeastPart;
  const std::int64_t parts =
      std::clamp<std::int64_t>(useful, 1, std::min<std::int64_t>(count, 4 * team.threads()));
  team.run(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto p = static_cast<std::int64_t>(part);
    work(count * p / parts, count * (p + 1) / parts);
  });
}

}  // namespace qsim::golden
