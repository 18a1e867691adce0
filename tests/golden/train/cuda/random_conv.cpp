#include "tests/golden/train/cuda/random_conv.h"

#include <array>

#include "tests/golden/train/cuda/random_tensors.h"

namespace qsim::golden_test {
namespace {

using golden::train::LevelConv;

template <std::size_t kCount>
std::int64_t one_of(Random& random, const std::array<std::int64_t, kCount>& values) {
  return values[static_cast<std::size_t>(random.uniform(0, kCount - 1))];
}

std::int64_t out_size(std::int64_t size, std::int64_t pads, std::int64_t extent,
                      std::int64_t stride) {
  return size + pads < extent ? 0 : (size + pads - extent) / stride + 1;
}

// 3x3 with whole channel blocks, as networks have them, or of few channels; of large pictures or of
// several small ones; or 1x1 of pictures of one pixel.
LevelConv usual_conv(Random& random) {
  LevelConv conv;
  if (random.chance(0.3)) {
    conv.x_shape = {random.uniform(1, 70), 1, 1, 16 * random.uniform(1, 70)};
    conv.y_shape = conv.x_shape;
    conv.y_shape.channels = 8 * random.uniform(1, 300);
    return conv;
  }
  conv.x_shape = {random.uniform(1, 2), random.uniform(1, 34), random.uniform(1, 34),
                  64 * random.uniform(1, 3)};
  if (random.chance(0.4)) {
    conv.x_shape.batch = random.uniform(1, 6);
    conv.x_shape.height = random.uniform(5, 10);
    conv.x_shape.width = random.uniform(5, 10);
  }
  if (random.chance(0.2)) conv.x_shape.channels = random.uniform(1, 3);
  conv.y_shape = conv.x_shape;
  conv.y_shape.channels = 64 * random.uniform(1, 3);
  conv.window.kernel_h = conv.window.kernel_w = 3;
  if (random.chance(0.25)) {
    conv.window.kernel_w = random.uniform(1, 2);
    conv.y_shape.width += 3 - conv.window.kernel_w;
  }
  conv.window.pad_top = conv.window.pad_left = conv.window.pad_bottom = conv.window.pad_right = 1;
  if (random.chance(0.1)) {  // without pads above and below
    conv.window.pad_top = conv.window.pad_bottom = 0;
    conv.x_shape.height = conv.y_shape.height + 2;
  }
  return conv;
}

// Draws groups of 1 to 8 channels, mostly as many of x as of y and whole eights in all, as
// depthwise layers have them.
LevelConv small_group_conv(Random& random) {
  constexpr std::array<std::int64_t, 5> kGroups = {1, 1, 2, 4, 8};
  constexpr std::array<std::int64_t, 8> kStrides = {1, 1, 1, 1, 2, 2, 3, 3};
  LevelConv conv;
  Window& w = conv.window;
  const bool usual = random.chance(0.6);
  w.kernel_h = usual ? 3 : random.uniform(1, 7);
  w.kernel_w = usual ? 3 : random.uniform(1, 7);
  if (random.chance(0.1)) w.kernel_w = random.uniform(4, 7);
  w.stride_h = one_of(random, kStrides);
  w.stride_w = random.chance(0.8) ? w.stride_h : one_of(random, kStrides);
  w.dilation_h = random.chance(0.85) ? 1 : random.uniform(2, 3);
  w.dilation_w = random.chance(0.85) ? 1 : random.uniform(2, 3);
  for (std::int64_t* pad : {&w.pad_top, &w.pad_left, &w.pad_bottom, &w.pad_right}) {
    *pad = random.uniform(0, 2);
  }
  const std::int64_t group = one_of(random, kGroups);
  const std::int64_t channels = random.chance(0.9)
                                    ? 8 * random.uniform(1, random.chance(0.2) ? 20 : 9)
                                    : group * random.uniform(1, 20);
  const std::int64_t more = random.chance(0.1) ? 2 : 1;
  const auto side = [&] {
    return random.chance(0.4) ? 4 * random.uniform(1, 9) : random.uniform(1, 36);
  };
  conv.groups = channels / group;
  conv.x_shape = {random.uniform(1, 4), side(), side(), channels};
  conv.y_shape = {conv.x_shape.batch,
                  out_size(conv.x_shape.height, w.pad_top + w.pad_bottom, w.extent_h(), w.stride_h),
                  out_size(conv.x_shape.width, w.pad_left + w.pad_right, w.extent_w(), w.stride_w),
                  channels * more};
  return conv;
}

LevelConv any_conv(Random& random) {
  LevelConv conv;
  Window& w = conv.window;
  w.kernel_h = random.uniform(1, 4);
  w.kernel_w = random.uniform(1, 4);
  w.stride_h = random.uniform(1, 3);
  w.stride_w = random.uniform(1, 3);
  w.dilation_h = random.chance(0.7) ? 1 : random.uniform(2, 3);
  w.dilation_w = random.chance(0.7) ? 1 : random.uniform(2, 3);
  w.pad_top = random.uniform(0, 3);
  w.pad_left = random.uniform(0, 3);
  w.pad_bottom = random.uniform(0, 3);
  w.pad_right = random.uniform(0, 3);
  const std::array<std::int64_t, 10> channels = {1, 2, 3, 5, 8, 10, 16, 24, 40, 72};
  conv.groups = random.chance(0.6) ? 1 : random.uniform(2, 4);
  conv.x_shape = {random.uniform(1, 4), random.uniform(1, 24), random.uniform(1, 24),
                  conv.groups * one_of(random, channels)};
  conv.y_shape = {conv.x_shape.batch,
                  out_size(conv.x_shape.height, w.pad_top + w.pad_bottom, w.extent_h(), w.stride_h),
                  out_size(conv.x_shape.width, w.pad_left + w.pad_right, w.extent_w(), w.stride_w),
                  conv.groups * one_of(random, channels)};
  if (random.chance(0.02)) conv.x_shape.batch = conv.y_shape.batch = 0;
  return conv;
}

// Calls f(index of g, of q, of w) for each product.
template <typename F>
void for_products(const LevelConv& conv, F f) {
  const Window& w = conv.window;
  const ImageShape& x = conv.x_shape;
  const ImageShape& y = conv.y_shape;
  const std::int64_t in = conv.in_channels();
  for (std::int64_t p = 0; p < conv.pixels(); ++p) {
    const std::int64_t oy = p / y.width % y.height;
    const std::int64_t ox = p % y.width;
    for (std::int64_t tap = 0; tap < w.kernel_h * w.kernel_w; ++tap) {
      const std::int64_t iy = oy * w.stride_h - w.pad_top + tap / w.kernel_w * w.dilation_h;
      const std::int64_t ix = ox * w.stride_w - w.pad_left + tap % w.kernel_w * w.dilation_w;
      if (iy < 0 || iy >= x.height || ix < 0 || ix >= x.width) continue;
      const std::int64_t pixel = (p / (y.height * y.width) * x.height + iy) * x.width + ix;
      for (std::int64_t o = 0; o < y.channels; ++o) {
        const std::int64_t first = pixel * x.channels + o / conv.out_channels() * in;
        const std::int64_t weight = (o * w.kernel_h * w.kernel_w + tap) * in;
        for (std::int64_t c = 0; c < in; ++c) {
          f(static_cast<std::size_t>(p * y.channels + o), static_cast<std::size_t>(first + c),
            static_cast<std::size_t>(weight + c));
        }
      }
    }
  }
}

void add(ExactSum& to, double term) {
  to.sum += term;
  to.magnitude += std::abs(term);
  ++to.terms;
}

}  // namespace

std::string RandomConv::text() const {
  const Window& window = conv.window;
  const auto shape = [](const ImageShape& s) {
    return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" +
           std::to_string(s.width) + "x" + std::to_string(s.channels);
  };
  const auto two = [](std::int64_t a, std::int64_t b) {
    return std::to_string(a) + "," + std::to_string(b);
  };
  return shape(conv.x_shape) + " to " + shape(conv.y_shape) + ", kernel " +
         two(window.kernel_h, window.kernel_w) + ", stride " +
         two(window.stride_h, window.stride_w) + ", dilation " +
         two(window.dilation_h, window.dilation_w) + ", pads " +
         two(window.pad_top, window.pad_left) + ", groups " + std::to_string(conv.groups) +
         ", zero_point " + std::to_string(zero_point);
}

std::vector<ExactSum> RandomConv::input_gradient() const {
  std::vector<double> reals(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) reals[i] = float_of_bfloat16(g[i]);
  std::vector<double> weights(w.size());
  const std::size_t depth = w_scales.empty() ? 1 : w.size() / w_scales.size();
  for (std::size_t i = 0; i < w.size(); ++i) {
    weights[i] = float_of_bfloat16(bfloat16_of(static_cast<float>(w[i]) * w_scales[i / depth]));
  }
  std::vector<ExactSum> sums(q.size());
  for_products(conv, [&](std::size_t at_g, std::size_t at_q, std::size_t at_w) {
    add(sums[at_q], reals[at_g] * weights[at_w]);
  });
  return sums;
}

std::vector<ExactSum> RandomConv::weight_gradient() const {
  std::vector<double> reals(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) reals[i] = float_of_bfloat16(g[i]);
  std::vector<ExactSum> sums(w.size());
  for_products(conv, [&](std::size_t at_g, std::size_t at_q, std::size_t at_w) {
    add(sums[at_w], reals[at_g] * (q[at_q] - zero_point));
  });
  return sums;
}

RandomConv random_conv(Random& random) {
  constexpr std::int64_t kMostProducts = 100'000'000;
  RandomConv layer;
  do {
    const std::int64_t kind = random.uniform(0, 99);
    layer.conv = kind < 30   ? usual_conv(random)
                 : kind < 75 ? small_group_conv(random)
                             : any_conv(random);
  } while (layer.conv.pixels() * layer.conv.y_shape.channels * layer.conv.depth() > kMostProducts);
  const ImageShape& x = layer.conv.x_shape;
  const std::int64_t out = layer.conv.y_shape.channels;
  layer.q = random_levels(random, x.batch * x.height * x.width * x.channels);
  layer.w = random_levels(random, out * layer.conv.depth());
  layer.g = random_bfloat16(random, layer.conv.pixels() * out);
  for (std::int64_t o = 0; o < out; ++o) {
    layer.w_scales.push_back(std::ldexp(1.0F + static_cast<float>(o % 7) / 7, -8));
  }
  layer.zero_point = random.chance(0.5) ? 0 : static_cast<std::int32_t>(random.uniform(-128, 127));
  layer.scale = static_cast<float>(random.uniform(1, 1000)) / 4096;
  return layer;
}

}  // namespace qsim::golden_test
