// Convolutions and linear layers with float weights.
#include "golden/graph/real/blocked_products.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {
namespace {

// Sums start from the bias.
struct FloatStage {
  using Sum = float;
  const Tensor& bias;

  void start(const SumBlock& block, float* sums) const {
    const float* from = bias.as<float>().data() + block.first_channel;
    for (std::int64_t r = 0; r < block.pixels; ++r, sums += block.pitch) {
      std::fill(std::copy_n(from, block.channels, sums), sums + block.pitch, 0.0F);
    }
  }

  void finish(const SumBlock& block, const float* sums, Tensor& output) const {
    const std::int64_t pitch = output.shape[3];
    float* to = output.as<float>().data() + block.first_pixel * pitch + block.first_channel;
    for (std::int64_t r = 0; r < block.pixels; ++r, sums += block.pitch, to += pitch) {
      for (std::size_t c = 0; c < block.channels; ++c) to[c] = canonical_nan(sums[c]);
    }
  }
};

class ProductsRunner : public RealLayerRunner {
 public:
  ProductsRunner(const Window& window, std::int64_t groups, const Tensor& weights,
                 const Tensor& bias, const ProductKernels& kernels)
      : products_(window, groups, weights.shape[0], weights.shape.back(), kernels), stage_{bias} {
    products_.add_band(weights.as<float>().data(), 0);
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    products_.run(*operands[0], output, team, stage_);
  }

 private:
  BlockedProducts products_;
  FloatStage stage_;
};

}  // namespace

RealRunner make_runner(const Conv2d& conv, const ProductKernels& kernels) {
  const bool is_depthwise =
      conv.groups > 1 && conv.weights.shape[0] == conv.groups && conv.weights.shape[3] == 1;
  if (is_depthwise) return make_depthwise(conv, kernels);
  return std::make_unique<ProductsRunner>(conv.window, conv.groups, conv.weights, conv.bias,
                                          kernels);
}

RealRunner make_runner(const FullyConnected& fc, const ProductKernels& kernels) {
  return std::make_unique<ProductsRunner>(Window{}, 1, fc.weights, fc.bias, kernels);
}

}  // namespace qsim::golden
