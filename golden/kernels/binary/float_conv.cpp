#include "golden/kernels/binary/float_conv.h"

#include "golden/common/float_environment.h"
#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden {
namespace {

struct Layer {
  std::vector<float> w;  // [taps][channels][out_channels]
  WeightShape weights;
  Window window;
  std::span<const float> x;
  ImageShape input;
};

// [taps][channels][out_channels], so that the innermost loop runs over neighbours.
std::vector<float> turned(std::span<const float> w, const WeightShape& shape) {
  const std::size_t depth = size(shape.taps() * shape.channels);
  const std::size_t out_channels = size(shape.out_channels);
  std::vector<float> result(w.size());
  for (std::size_t o = 0; o < out_channels; ++o) {
    for (std::size_t k = 0; k < depth; ++k) result[k * out_channels + o] = w[o * depth + k];
  }
  return result;
}

void add_tap(const Layer& layer, const float* x, std::int64_t tap, float* y) {
  const std::size_t out_channels = size(layer.weights.out_channels);
  const float* w = layer.w.data() + size(tap * layer.weights.channels) * out_channels;
  for (std::size_t c = 0; c < size(layer.weights.channels); ++c) {
    for (std::size_t o = 0; o < out_channels; ++o) y[o] += x[c] * w[c * out_channels + o];
  }
}

[[gnu::noinline]] void convolve(const Layer& layer, const ImageShape& shape, float* y) {
  const Window& w = layer.window;
  const ImageShape& input = layer.input;
  for (std::int64_t pixel = 0; pixel < shape.batch * shape.height * shape.width; ++pixel) {
    const std::int64_t batch = pixel / shape.width / shape.height;
    const std::int64_t top = pixel / shape.width % shape.height * w.stride_h - w.pad_top;
    const std::int64_t left = pixel % shape.width * w.stride_w - w.pad_left;
    for (std::int64_t tap = 0; tap < layer.weights.taps(); ++tap) {
      const std::int64_t iy = top + tap / w.kernel_w * w.dilation_h;
      const std::int64_t ix = left + tap % w.kernel_w * w.dilation_w;
      if (iy < 0 || iy >= input.height || ix < 0 || ix >= input.width) continue;
      const std::int64_t from = (batch * input.height + iy) * input.width + ix;
      add_tap(layer, layer.x.data() + size(from * input.channels), tap,
              y + size(pixel * shape.channels));
    }
  }
}

}  // namespace

std::vector<float> float_conv(std::span<const float> w, const WeightShape& weights,
                              const Window& window, std::span<const float> x,
                              const ImageShape& input) {
  require_weight_count(weights, w.size());
  require_elements(input, x.size());
  const ImageShape shape = window_shape(weights, window, input);
  std::vector<float> y(size(element_count(shape.nhwc())));
  const FloatEnvironment environment;
  convolve({turned(w, weights), weights, window, x, input}, shape, y.data());
  return y;
}

}  // namespace qsim::golden
