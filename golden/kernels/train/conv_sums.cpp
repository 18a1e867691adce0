#include "golden/kernels/train/conv_sums.h"

#include <algorithm>
#include <array>

namespace qsim::golden::train {

ConvSums::ConvSums(const LevelConv& conv, ThreadTeam& team)
    : conv_(conv),
      zero_point_(conv.zero_point == nullptr ? 0 : *conv.zero_point),
      row_(2 * ceil_div(conv.depth(), 2)),
      weights_(conv.groups, conv.out_channels(), row_ / 2) {
  weights_.fill(team, [&](std::int64_t group, std::int64_t step, std::int64_t channel) {
    const std::int8_t* w = conv.w + (group * conv.out_channels() + channel) * conv.depth();
    const bool has_odd = 2 * step + 1 < conv.depth();
    return LevelPair{w[2 * step], has_odd ? w[2 * step + 1] : std::int8_t{0}};
  });
}

void ConvSums::gather(std::int64_t group, std::int64_t first, std::int64_t count,
                      std::int16_t* patches) const {
  const ImageShape& x = conv_.x_shape;
  const ImageShape& y = conv_.y_shape;
  const Window& window = conv_.window;
  const std::int64_t channels = conv_.in_channels();
  const std::int64_t odd = row_ - conv_.depth();
  for (std::int64_t pixel = first; pixel < first + count; ++pixel, patches += odd) {
    const std::int64_t ow = pixel % y.width;
    const std::int64_t oh = pixel / y.width % y.height;
    const std::int64_t b = pixel / y.width / y.height;
    for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
      const std::int64_t ih = oh * window.stride_h - window.pad_top + ky * window.dilation_h;
      for (std::int64_t kx = 0; kx < window.kernel_w; ++kx, patches += channels) {
        const std::int64_t iw = ow * window.stride_w - window.pad_left + kx * window.dilation_w;
        if (ih < 0 || ih >= x.height || iw < 0 || iw >= x.width) {
          std::fill_n(patches, channels, std::int16_t{0});
          continue;
        }
        const std::int8_t* from =
            conv_.q + ((b * x.height + ih) * x.width + iw) * x.channels + group * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
          patches[c] = static_cast<std::int16_t>(from[c] - zero_point_);
        }
      }
    }
  }
}

void ConvSums::multiply_block(std::int64_t group, std::int64_t count, const std::int16_t* patches,
                              std::int32_t* acc) const {
  const std::int64_t outs = conv_.y_shape.channels;
  std::array<std::int32_t, kMostRows * 32> sums;
  for (std::int64_t index = 0; index < weights_.count; ++index) {
    const std::int64_t first = group * conv_.out_channels() + index * weights_.lanes;
    for (std::int64_t row = 0; row < count; row += kMostRows) {
      PairProducts products;
      products.a = patches + row * row_;
      products.a_row = row_;
      products.b = weights_.panel(group, index);
      products.lanes = weights_.lanes;
      products.rows = std::min(kMostRows, count - row);
      products.pairs = row_ / 2;
      products.sums = sums.data();
      multiply(products);
      for (std::int64_t r = 0; r < products.rows; ++r) {
        const std::int32_t* from = sums.data() + r * weights_.lanes;
        std::copy_n(from, weights_.channels_of(index), acc + (row + r) * outs + first);
      }
    }
  }
}

}  // namespace qsim::golden::train
