#include "golden/real/real_arithmetic.h"
#include "golden/real/reference_layers.h"

namespace qsim::golden {
namespace {

// Output (n, oy, ox, co).
float conv2d_at(const RealConv2d& conv, const Tensor& x, std::int64_t n, std::int64_t oy,
                std::int64_t ox, std::int64_t co) {
  const ImageShape in = image_shape(x);
  const Window& w = conv.window;
  const std::int64_t channels = conv.weights.shape[3];
  const std::int64_t group = co / (conv.weights.shape[0] / conv.groups);
  const float* weight = conv.weights.as<float>().data() + co * w.kernel_h * w.kernel_w * channels;
  ChunkedSum sum(conv.bias.as<float>()[size(co)]);
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = window_row(w, oy, ky);
      const std::int64_t ix = window_col(w, ox, kx);
      for (std::int64_t ci = 0; ci < channels; ++ci) {
        // A position outside the picture is the number +0.
        const float value =
            is_inside(in, iy, ix)
                ? x.as<float>()[size(pixel_index(in, n, iy, ix) + group * channels + ci)]
                : 0.0F;
        sum.add(value, *weight++);
      }
    }
  }
  return canonical_nan(sum.finish());
}

}  // namespace

void reference_conv2d(const RealConv2d& conv, const Tensor& x, Tensor& y) {
  const ImageShape out = image_shape(y);
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < out.batch; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t co = 0; co < out.channels; ++co) {
          *to++ = conv2d_at(conv, x, n, oy, ox, co);
        }
      }
    }
  }
}

}  // namespace qsim::golden
