// The gradient of a convolution's input: each output pixel's sum over output channels goes to the
// input pixels that it was made of, tap by tap.
#include <array>
#include <vector>

#include "golden/kernels/train/gradient_operands.h"
#include "golden/kernels/train/panels.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

// Weights as floats that bfloat16 has: a panel of input channels has a step for each tap and output
// channel.
Panels<float> real_weights(const ConvInputGradient& call, ThreadTeam& team) {
  const LevelConv& conv = call.conv;
  const std::int64_t taps = conv.window.kernel_h * conv.window.kernel_w;
  const std::int64_t outs = conv.out_channels();
  Panels<float> weights(conv.groups, conv.in_channels(), taps * outs);
  weights.fill(team, [&](std::int64_t group, std::int64_t step, std::int64_t channel) {
    const std::int64_t out = group * outs + step % outs;
    const std::int64_t tap = step / outs;
    const auto level =
        static_cast<float>(conv.w[(out * taps + tap) * conv.in_channels() + channel]);
    return float_from_bfloat16(bfloat16_from_float(level * call.w_scales[out]));
  });
  return weights;
}

// One panel of input channels of one picture.
struct PanelOfPicture {
  const LevelConv& conv;
  const float* g;  // of the picture and the group: [OH][OW][all O]
  const float* weights;
  std::int64_t lanes;
  std::vector<float> dx;  // [H][W][lanes]

  void add_tap(std::int64_t tap) {
    const TapReach rows = rows_of_tap(conv, tap);
    for (std::int64_t oh = rows.begin; oh < rows.end; ++oh) {
      add_row(tap, oh, (oh * conv.window.stride_h + rows.shift) * conv.x_shape.width);
    }
  }

 private:
  // `row`: the place of the input row's first pixel.
  void add_row(std::int64_t tap, std::int64_t oh, std::int64_t row) {
    const TapReach columns = columns_of_tap(conv, tap);
    std::array<float, kMostRows * 32> sums;
    for (std::int64_t ow = columns.begin; ow < columns.end; ow += kMostRows) {
      Products products;
      products.a = g + (oh * conv.y_shape.width + ow) * conv.y_shape.channels;
      products.a_row = conv.y_shape.channels;
      products.b = weights + tap * conv.out_channels() * lanes;
      products.b_step = products.lanes = lanes;
      products.rows = std::min(kMostRows, columns.end - ow);
      products.depth = conv.out_channels();
      products.sums = sums.data();
      multiply(products);
      for (std::int64_t r = 0; r < products.rows; ++r) {
        const std::int64_t iw = (ow + r) * conv.window.stride_w + columns.shift;
        float* to = dx.data() + (row + iw) * lanes;
        const float* from = sums.data() + r * lanes;
        for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] += from[lane];
      }
    }
  }
};

void store(const ConvInputGradient& call, std::int64_t picture, std::int64_t channel,
           std::int64_t channels, const PanelOfPicture& panel) {
  const ImageShape& x = call.conv.x_shape;
  std::vector<float> values(static_cast<std::size_t>(channels));
  for (std::int64_t pixel = 0; pixel < x.height * x.width; ++pixel) {
    const std::int64_t first = (picture * x.height * x.width + pixel) * x.channels + channel;
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = panel.dx[static_cast<std::size_t>(pixel * panel.lanes + c)];
      values[static_cast<std::size_t>(c)] = passes_at(call.passes, first + c) ? value : 0.0F;
    }
    store_span(call.dx, first, channels, values.data());
  }
}

}  // namespace

void compute(const ConvInputGradient& call, ThreadTeam& team) {
  const LevelConv& conv = call.conv;
  if (call.dx.elems() == 0) return;
  const ImageShape& y = conv.y_shape;
  const std::int64_t picture = y.height * y.width * y.channels;
  const std::vector<float> g = floats_of(call.g, y.batch * picture, team);
  const Panels<float> weights = real_weights(call, team);
  const std::int64_t panels = conv.groups * weights.count;
  for_each_item(team, y.batch * panels, [&](std::int64_t item) {
    const std::int64_t b = item / panels;
    const std::int64_t group = item % panels / weights.count;
    const std::int64_t index = item % weights.count;
    PanelOfPicture panel{conv, g.data() + b * picture + group * conv.out_channels(),
                         weights.panel(group, index), weights.lanes,
                         std::vector<float>(static_cast<std::size_t>(
                             conv.x_shape.height * conv.x_shape.width * weights.lanes))};
    for (std::int64_t tap = 0; tap < conv.window.kernel_h * conv.window.kernel_w; ++tap) {
      panel.add_tap(tap);
    }
    store(call, b, group * conv.in_channels() + index * weights.lanes, weights.channels_of(index),
          panel);
  });
}

}  // namespace qsim::golden::train
