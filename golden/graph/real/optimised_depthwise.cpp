#include "golden/graph/real/depthwise_products.h"

namespace qsim::golden {
namespace {

class DepthwiseRunner : public RealLayerRunner {
 public:
  DepthwiseRunner(const Conv2d& conv, const ProductKernels& kernels)
      : conv_(conv), products_(conv.window, conv.weights.shape[0], kernels) {
    products_.add_band(conv.weights.as<float>().data());
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const float* bias = conv_.bias.as<float>().data();
    products_.run(*operands[0], output, team,
                  [&](std::int64_t, Taps taps, float* y) { products_.multiply(0, taps, bias, y); });
  }

 private:
  const Conv2d& conv_;
  DepthwiseProducts products_;
};

}  // namespace

void DepthwiseProducts::add_band(const float* factors) {
  std::vector<float>& band = bands_.emplace_back(taps_ * channels_);
  for (std::size_t t = 0; t < taps_; ++t) {
    for (std::size_t c = 0; c < channels_; ++c) band[t * channels_ + c] = factors[c * taps_ + t];
  }
}

void DepthwiseProducts::find_taps(const Tensor& input, std::int64_t n, std::int64_t oy,
                                  std::int64_t ox, std::vector<const float*>& taps) const {
  const ImageShape in = image_shape(input);
  const float* x = input.as<float>().data();
  std::size_t t = 0;
  for (std::int64_t ky = 0; ky < window_.kernel_h; ++ky) {
    const std::int64_t iy = window_row(window_, oy, ky);
    for (std::int64_t kx = 0; kx < window_.kernel_w; ++kx, ++t) {
      const std::int64_t ix = window_col(window_, ox, kx);
      taps[t] = is_inside(in, iy, ix) ? x + pixel_index(in, n, iy, ix) : outside_.data();
    }
  }
}

RealRunner make_depthwise(const Conv2d& conv, const ProductKernels& kernels) {
  return std::make_unique<DepthwiseRunner>(conv, kernels);
}

}  // namespace qsim::golden
