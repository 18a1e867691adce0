// The gradient of a convolution's weights: for each tap a sum over the output pixels that it
// reaches, first within a picture, then over the pictures in order.
#include <array>
#include <vector>

#include "golden/kernels/train/gradient_operands.h"
#include "golden/kernels/train/panels.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

// q - zero_point: a panel of input channels has a step for each pixel.
Panels<float> levels_of(const LevelConv& conv, ThreadTeam& team) {
  const ImageShape& x = conv.x_shape;
  const std::int32_t zero_point = conv.zero_point == nullptr ? 0 : *conv.zero_point;
  Panels<float> levels(conv.groups, conv.in_channels(), x.batch * x.height * x.width);
  levels.fill(team, [&](std::int64_t group, std::int64_t pixel, std::int64_t channel) {
    const std::int64_t c = group * conv.in_channels() + channel;
    return static_cast<float>(conv.q[pixel * x.channels + c] - zero_point);
  });
  return levels;
}

// Up to kMostRows output channels by the lanes of a panel, of one tap.
struct Tile {
  const LevelConv& conv;
  const float* g;       // the first output channel of the first pixel
  const float* levels;  // of the panel
  std::int64_t lanes;
  std::int64_t rows;

  // Adds one picture's sums to `total`.
  void add_picture(std::int64_t b, const TapReach& y, const TapReach& x, float* total) const {
    const ImageShape& in = conv.x_shape;
    const ImageShape& out = conv.y_shape;
    if (y.begin >= y.end || x.begin >= x.end) return;
    std::array<float, kMostRows * 32> sums;
    Products products;
    products.a_row = 1;
    products.a_step = out.channels;
    products.b_step = conv.window.stride_w * lanes;
    products.lanes = lanes;
    products.rows = rows;
    products.depth = x.end - x.begin;
    products.sums = sums.data();
    for (std::int64_t oh = y.begin; oh < y.end; ++oh) {
      const std::int64_t ih = oh * conv.window.stride_h + y.shift;
      const std::int64_t iw = x.begin * conv.window.stride_w + x.shift;
      products.a = g + ((b * out.height + oh) * out.width + x.begin) * out.channels;
      products.b = levels + ((b * in.height + ih) * in.width + iw) * lanes;
      products.adds = oh > y.begin;
      multiply(products);
    }
    const float* from = sums.data();
    for (std::int64_t i = 0; i < rows * lanes; ++i) total[i] += from[i];
  }
};

// Where a tile's weights are: [out][tap][input channel of the group].
void store(const ConvWeightGradient& call, std::int64_t first, std::int64_t channels,
           const float* sums) {
  std::array<float, 32> values;
  for (std::int64_t c = 0; c < channels; ++c) {
    values[static_cast<std::size_t>(c)] =
        passes_at(call.passes, first + c) ? *call.scale * sums[c] : 0.0F;
  }
  store_span(call.dw, first, channels, values.data());
}

void tap_of_panel(const ConvWeightGradient& call, const std::vector<float>& g,
                  const Panels<float>& levels, std::int64_t group, std::int64_t index,
                  std::int64_t tap) {
  const LevelConv& conv = call.conv;
  const std::int64_t taps = conv.window.kernel_h * conv.window.kernel_w;
  const TapReach y = rows_of_tap(conv, tap);
  const TapReach x = columns_of_tap(conv, tap);
  for (std::int64_t row = 0; row < conv.out_channels(); row += kMostRows) {
    const std::int64_t out = group * conv.out_channels() + row;
    const Tile tile{conv, g.data() + out, levels.panel(group, index), levels.lanes,
                    std::min(kMostRows, conv.out_channels() - row)};
    std::array<float, kMostRows * 32> total{};
    for (std::int64_t b = 0; b < conv.y_shape.batch; ++b) tile.add_picture(b, y, x, total.data());
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const std::int64_t first =
          ((out + r) * taps + tap) * conv.in_channels() + index * levels.lanes;
      store(call, first, levels.channels_of(index), total.data() + r * levels.lanes);
    }
  }
}

}  // namespace

void compute(const ConvWeightGradient& call, ThreadTeam& team) {
  const LevelConv& conv = call.conv;
  const ImageShape& y = conv.y_shape;
  const std::int64_t taps = conv.window.kernel_h * conv.window.kernel_w;
  const std::vector<float> g = floats_of(call.g, conv.pixels() * y.channels, team);
  const Panels<float> levels = levels_of(conv, team);
  for_each_item(team, conv.groups * levels.count * taps, [&](std::int64_t item) {
    const std::int64_t panel = item / taps;
    tap_of_panel(call, g, levels, panel / levels.count, panel % levels.count, item % taps);
  });
}

}  // namespace qsim::golden::train
