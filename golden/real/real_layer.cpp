#include "golden/real/real_layer.h"

#include <algorithm>

#include "golden/real/reference_layers.h"

namespace qsim::golden {
namespace {

// Elements below which starting a thread costs more than it saves.
constexpr std::int64_t kLeastPart = 16384;

class PlainLayer : public RealLayerRunner {
 public:
  explicit PlainLayer(const RealLayer& layer) : layer_(layer) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam&) const override {
    std::visit([&](const auto& operation) { compute(operation, operands, output); },
               layer_.operation);
  }

 private:
  static void compute(const RealConv2d& conv, RealOperands x, Tensor& y) {
    reference_conv2d(conv, *x[0], y);
  }
  static void compute(const RealLinear& linear, RealOperands x, Tensor& y) {
    reference_linear(linear, *x[0], y);
  }
  static void compute(const RealMaxPool& pool, RealOperands x, Tensor& y) {
    reference_max_pool(pool, *x[0], y);
  }
  static void compute(const RealAveragePool& pool, RealOperands x, Tensor& y) {
    reference_average_pool(pool, *x[0], y);
  }
  static void compute(const RealAdd&, RealOperands x, Tensor& y) { reference_add(*x[0], *x[1], y); }
  static void compute(const RealConcat&, RealOperands x, Tensor& y) {
    reference_concat({x.begin(), x.end()}, y);
  }
  static void compute(const RealActivation& activation, RealOperands x, Tensor& y) {
    reference_activation(activation, *x[0], y);
  }
  static void compute(const RealFlatten& flatten, RealOperands x, Tensor& y) {
    reference_flatten(flatten, *x[0], y);
  }

  const RealLayer& layer_;
};

struct MakeOptimised {
  std::int64_t input_channels;
  const ProductKernels& kernels;

  RealRunner operator()(const RealConv2d& conv) const {
    const bool depthwise =
        conv.groups > 1 && conv.groups == input_channels && conv.weights.shape[0] == input_channels;
    return depthwise ? make_depthwise(conv, kernels) : make_conv2d(conv, kernels);
  }
  RealRunner operator()(const RealLinear& linear) const { return make_linear(linear, kernels); }
  RealRunner operator()(const RealMaxPool& pool) const { return make_max_pool(pool); }
  RealRunner operator()(const RealAveragePool& pool) const { return make_average_pool(pool); }
  RealRunner operator()(const RealAdd&) const { return make_add(); }
  RealRunner operator()(const RealConcat&) const { return make_real_concat(); }
  RealRunner operator()(const RealActivation& a) const { return make_activation(a); }
  RealRunner operator()(const RealFlatten& flatten) const { return make_flatten(flatten); }
};

}  // namespace

RealRunner make_plain_layer(const RealLayer& layer) { return std::make_unique<PlainLayer>(layer); }

RealRunner make_optimised_layer(const RealGraph& graph, const RealLayer& layer,
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
