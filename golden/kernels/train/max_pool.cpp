// Max pooling of levels, and its gradient.
#include <vector>

#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

// Positions of one window along one axis: first, first + dilation, ... below end.
struct Span {
  std::int64_t first;
  std::int64_t end;
};

Span span_of(std::int64_t out, std::int64_t stride, std::int64_t pad, std::int64_t kernel,
             std::int64_t dilation, std::int64_t size) {
  const std::int64_t begin = out * stride - pad;
  const std::int64_t skipped = begin < 0 ? ceil_div(-begin, dilation) : 0;
  return {begin + skipped * dilation, std::min(size, begin + kernel * dilation)};
}

// visit(place of the input pixel in its picture) in row-major order.
template <typename Visit>
void each_under(const Window& w, const ImageShape& x, std::int64_t oh, std::int64_t ow,
                const Visit& visit) {
  const Span rows = span_of(oh, w.stride_h, w.pad_top, w.kernel_h, w.dilation_h, x.height);
  const Span columns = span_of(ow, w.stride_w, w.pad_left, w.kernel_w, w.dilation_w, x.width);
  for (std::int64_t ih = rows.first; ih < rows.end; ih += w.dilation_h) {
    for (std::int64_t iw = columns.first; iw < columns.end; iw += w.dilation_w) {
      visit(ih * x.width + iw);
    }
  }
}

void pool_pixel(const MaxPool& call, std::int64_t pixel) {
  const ImageShape& y = call.y_shape;
  const std::int64_t channels = y.channels;
  const std::int64_t b = pixel / (y.height * y.width);
  const std::int8_t* picture = call.q + b * call.x_shape.height * call.x_shape.width * channels;
  std::int8_t* to = call.y + pixel * channels;
  std::fill_n(to, channels, std::int8_t{-128});
  each_under(call.window, call.x_shape, pixel / y.width % y.height, pixel % y.width,
             [&](std::int64_t place) {
               const std::int8_t* from = picture + place * channels;
               for (std::int64_t c = 0; c < channels; ++c) to[c] = std::max(to[c], from[c]);
             });
}

// Scratch of one thread.
struct PictureGradient {
  std::vector<float> dx;            // [H][W][C]
  std::vector<float> dy;            // [C]
  std::vector<std::int64_t> first;  // [C]: where the greatest level is; -1: nowhere
  std::vector<std::int8_t> most;    // [C]
};

void give(const MaxPoolGradient& call, const std::int8_t* picture, std::int64_t oh, std::int64_t ow,
          PictureGradient& to) {
  const auto channels = static_cast<std::size_t>(call.x_shape.channels);
  std::fill(to.first.begin(), to.first.end(), -1);
  each_under(call.window, call.x_shape, oh, ow, [&](std::int64_t place) {
    const std::int8_t* from = picture + place * call.x_shape.channels;
    for (std::size_t c = 0; c < channels; ++c) {
      if (to.first[c] >= 0 && from[c] <= to.most[c]) continue;
      to.most[c] = from[c];
      to.first[c] = place;
    }
  });
  for (std::size_t c = 0; c < channels; ++c) {
    if (to.first[c] >= 0) to.dx[static_cast<std::size_t>(to.first[c]) * channels + c] += to.dy[c];
  }
}

void gradient_of_picture(const MaxPoolGradient& call, std::int64_t b) {
  const ImageShape& x = call.x_shape;
  const std::int64_t size = x.height * x.width * x.channels;
  const auto channels = static_cast<std::size_t>(x.channels);
  PictureGradient to{std::vector<float>(static_cast<std::size_t>(size)),
                     std::vector<float>(channels), std::vector<std::int64_t>(channels),
                     std::vector<std::int8_t>(channels)};
  for (std::int64_t oh = 0; oh < call.y_shape.height; ++oh) {
    for (std::int64_t ow = 0; ow < call.y_shape.width; ++ow) {
      const std::int64_t pixel = (b * call.y_shape.height + oh) * call.y_shape.width + ow;
      load_span(call.dy, pixel * x.channels, x.channels, to.dy.data());
      give(call, call.q + b * size, oh, ow, to);
    }
  }
  for (std::int64_t i = 0; i < size; ++i) {
    if (!passes_at(call.passes, b * size + i)) to.dx[static_cast<std::size_t>(i)] = 0;
  }
  store_span(call.dx, b * size, size, to.dx.data());
}

}  // namespace

void compute(const MaxPool& call, ThreadTeam& team) {
  const ImageShape& y = call.y_shape;
  for_ranges(team, y.batch * y.height * y.width, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pixel = begin; pixel < end; ++pixel) pool_pixel(call, pixel);
  });
}

void compute(const MaxPoolGradient& call, ThreadTeam& team) {
  for_each_item(team, call.x_shape.batch, [&](std::int64_t b) { gradient_of_picture(call, b); });
}

}  // namespace qsim::golden::train
