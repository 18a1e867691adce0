#include "golden/real/real_arithmetic.h"
#include "golden/real/reference_layers.h"

namespace qsim::golden {

void reference_concat(const std::vector<const Tensor*>& operands, Tensor& y) {
  const ImageShape out = image_shape(y);
  for (std::int64_t pixel = 0; pixel < out.batch * out.height * out.width; ++pixel) {
    float* to = y.as<float>().data() + pixel * out.channels;
    for (const Tensor* operand : operands) {
      const std::int64_t channels = operand->shape[3];
      for (std::int64_t c = 0; c < channels; ++c) {
        *to++ = operand->as<float>()[size(pixel * channels + c)];
      }
    }
  }
}

void reference_flatten(const RealFlatten& flatten, const Tensor& x, Tensor& y) {
  const ImageShape in = image_shape(x);
  const bool chw = flatten.order == Flatten::Order::kChw;
  for (std::int64_t n = 0; n < in.batch; ++n) {
    for (std::int64_t iy = 0; iy < in.height; ++iy) {
      for (std::int64_t ix = 0; ix < in.width; ++ix) {
        for (std::int64_t c = 0; c < in.channels; ++c) {
          const std::int64_t to =
              chw ? (c * in.height + iy) * in.width + ix : (iy * in.width + ix) * in.channels + c;
          y.as<float>()[size(n * in.height * in.width * in.channels + to)] =
              x.as<float>()[size(pixel_index(in, n, iy, ix) + c)];
        }
      }
    }
  }
}

}  // namespace qsim::golden
