// Convolution as its definition reads: seven loops and requantize().
#include "golden/cpu/quantized_view.h"
#include "golden/cpu/reference_layers.h"

namespace qsim::golden {
namespace {

// The psum of one output element.
std::int32_t accumulate(const Conv2d& conv, const Value& in, const Tensor& input, std::int64_t n,
                        std::int64_t oy, std::int64_t ox, std::int64_t co) {
  const Window& window = conv.window;
  const auto weights = conv.weights.as<std::int8_t>();
  const auto [batch, height, width, channels] = in.shape;
  std::int32_t acc = 0;
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t y = oy * window.stride_h + ky - window.pad_top;
    if (y < 0 || y >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t x = ox * window.stride_w + kx - window.pad_left;
      if (x < 0 || x >= width) continue;
      for (std::int64_t ci = 0; ci < channels; ++ci) {
        const std::int32_t value =
            quantized_at(input, nhwc_index(height, width, channels, n, y, x, ci));
        const std::int64_t weight_index =
            nhwc_index(window.kernel_h, window.kernel_w, channels, co, ky, kx, ci);
        acc = wrapping_mac(acc, value - in.zero_point,
                           weights[static_cast<std::size_t>(weight_index)]);
      }
    }
  }
  return acc;
}

}  // namespace

Tensor reference_conv2d(const Conv2d& conv, const Value& input_value, const Value& output_value,
                        const Tensor& input) {
  const auto [batch, height, width, channels] = output_value.shape;
  const auto bias = conv.bias.as<std::int32_t>();
  const Requantization& rq = conv.requantization;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t oy = 0; oy < height; ++oy) {
      for (std::int64_t ox = 0; ox < width; ++ox) {
        for (std::int64_t co = 0; co < channels; ++co) {
          const std::int32_t acc = accumulate(conv, input_value, input, n, oy, ox, co);
          set_quantized(output, nhwc_index(height, width, channels, n, oy, ox, co),
                        requantize(acc, bias[static_cast<std::size_t>(co)], rq.shift(co),
                                   rq.rounding, output_value.zero_point, rq.lo, rq.hi));
        }
      }
    }
  }
  return output;
}

}  // namespace qsim::golden
