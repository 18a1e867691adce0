// Depthwise convolution: each output channel reads one input channel, so the channels are the
// vectors, and a list of pointers says where the inputs under the kernel lie.
#include "golden/real/real_arithmetic.h"
#include "golden/real/real_layer.h"

namespace qsim::golden {
namespace {

class DepthwiseRunner : public RealLayerRunner {
 public:
  DepthwiseRunner(const RealConv2d& conv, const ProductKernels& kernels)
      : conv_(conv),
        kernels_(kernels),
        channels_(size(conv.weights.shape[0])),
        taps_(size(conv.window.kernel_h * conv.window.kernel_w)),
        weights_(taps_ * channels_),
        outside_(channels_, 0.0F) {
    const std::span<const float> from = conv.weights.as<float>();
    for (std::size_t t = 0; t < taps_; ++t) {
      for (std::size_t c = 0; c < channels_; ++c) weights_[t * channels_ + c] = from[c * taps_ + t];
    }
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const ImageShape out = image_shape(output);
    const std::int64_t row_cost = out.width * out.channels * static_cast<std::int64_t>(taps_);
    divide(team, out.batch * out.height, row_cost, [&](std::int64_t first, std::int64_t last) {
      std::vector<const float*> taps(taps_);
      for (std::int64_t row = first; row < last; ++row) run_row(*operands[0], row, taps, output);
    });
  }

 private:
  void run_row(const Tensor& input, std::int64_t row, std::vector<const float*>& taps,
               Tensor& output) const {
    const ImageShape in = image_shape(input);
    const ImageShape out = image_shape(output);
    const Window& w = conv_.window;
    const float* x = input.as<float>().data();
    float* y = output.as<float>().data() + row * out.width * out.channels;
    for (std::int64_t ox = 0; ox < out.width; ++ox, y += out.channels) {
      for (std::size_t t = 0; t < taps_; ++t) {
        const std::int64_t iy =
            window_row(w, row % out.height, static_cast<std::int64_t>(t) / w.kernel_w);
        const std::int64_t ix = window_col(w, ox, static_cast<std::int64_t>(t) % w.kernel_w);
        taps[t] =
            is_inside(in, iy, ix) ? x + pixel_index(in, row / out.height, iy, ix) : outside_.data();
      }
      kernels_.depthwise(
          {taps.data(), weights_.data(), conv_.bias.as<float>().data(), taps_, channels_, y});
    }
  }

  const RealConv2d& conv_;
  const ProductKernels& kernels_;
  std::size_t channels_;
  std::size_t taps_;
  std::vector<float> weights_;  // [taps][channels]
  std::vector<float> outside_;  // a pixel outside the picture
};

}  // namespace

RealRunner make_depthwise(const RealConv2d& conv, const ProductKernels& kernels) {
  return std::make_unique<DepthwiseRunner>(conv, kernels);
}

}  // namespace qsim::golden
