// Binary convolution by definition: plain loops over +1.0, -1.0, and 0.0 for pads.
#include <cmath>
#include <limits>

#include "golden/common/float_environment.h"
#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden {
namespace {

double sign_of(std::uint64_t word, std::int64_t channel) {
  return (word >> (channel % kBitsPerWord) & 1) != 0 ? 1.0 : -1.0;
}

// A_j at this place of the picture, or 0 outside it.
double activation(const BitTensor& input, int base, std::int64_t batch, std::int64_t y,
                  std::int64_t x, std::int64_t channel) {
  if (y < 0 || y >= input.shape.height || x < 0 || x >= input.shape.width) return 0;
  const std::uint64_t* words = input.pixel(batch, y, x) + base * bit_words(input.shape.channels);
  return sign_of(words[channel / kBitsPerWord], channel);
}

float canonical(float value) {
  return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
}

}  // namespace

std::int32_t reference_dot(const BinaryConv& conv, const BitTensor& input, int weight_base,
                           int activation_base, std::int64_t batch, std::int64_t y, std::int64_t x,
                           std::int64_t out_channel) {
  const Window& w = conv.window;
  double sum = 0;  // of +1, -1 and 0: exact
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::uint64_t* words = conv.weights.tap(out_channel, weight_base, ky * w.kernel_w + kx);
      for (std::int64_t c = 0; c < input.shape.channels; ++c) {
        sum += sign_of(words[c / kBitsPerWord], c) *
               activation(input, activation_base, batch,
                          y * w.stride_h + ky * w.dilation_h - w.pad_top,
                          x * w.stride_w + kx * w.dilation_w - w.pad_left, c);
      }
    }
  }
  return static_cast<std::int32_t>(sum);
}

namespace {

[[gnu::noinline]] std::vector<float> convolve(const BinaryConv& conv, const BitTensor& input,
                                              const ImageShape& shape) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(element_count(shape.nhwc())));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t oy = 0; oy < shape.height; ++oy) {
      for (std::int64_t ox = 0; ox < shape.width; ++ox) {
        for (std::int64_t o = 0; o < shape.channels; ++o) {
          float y = conv.bias.empty() ? 0.0F : conv.bias[static_cast<std::size_t>(o)];
          for (int i = 0; i < conv.weights.bases; ++i) {
            float s = 0;
            for (int j = 0; j < input.bases; ++j) {
              const auto dot = static_cast<float>(reference_dot(conv, input, i, j, b, oy, ox, o));
              s = std::fma(conv.beta[static_cast<std::size_t>(j)], dot, s);
            }
            y = std::fma(conv.weights.alpha[static_cast<std::size_t>(i * shape.channels + o)], s,
                         y);
          }
          result.push_back(canonical(y));
        }
      }
    }
  }
  return result;
}

[[gnu::noinline]] BitTensor make_bits(const BinaryStage& stage, std::span<const float> y,
                                      const ImageShape& shape) {
  const BinaryPool pool = stage.pool.value_or(BinaryPool{1, 1});
  const ImageShape pooled = {shape.batch, (shape.height - pool.size) / pool.stride + 1,
                             (shape.width - pool.size) / pool.stride + 1, shape.channels};
  std::vector<float> values;
  for (std::int64_t i = 0; i < element_count(pooled.nhwc()); ++i) {
    const std::int64_t c = i % pooled.channels;
    const std::int64_t px = i / pooled.channels % pooled.width;
    const std::int64_t py = i / pooled.channels / pooled.width % pooled.height;
    const std::int64_t b = i / pooled.channels / pooled.width / pooled.height;
    float m = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < pool.size * pool.size; ++k) {
      const std::int64_t row = py * pool.stride + k / pool.size;
      const std::int64_t column = px * pool.stride + k % pool.size;
      const float value = y[static_cast<std::size_t>(
          ((b * shape.height + row) * shape.width + column) * shape.channels + c)];
      if (value > m) m = value;
    }
    const auto channel = static_cast<std::size_t>(c);
    float z = std::fma(stage.gain[channel], m, stage.shift[channel]);
    if (stage.relu && z < 0) z = 0;
    values.push_back(z);
  }
  return quantize_and_pack(std::span<const float>(values), pooled, static_cast<int>(stage.v.size()),
                           ThresholdQuantizer{stage.v});
}

}  // namespace

std::vector<float> reference_conv(const BinaryConv& conv, const BitTensor& input) {
  const ImageShape shape = output_shape(conv, input);
  const FloatEnvironment environment;
  return convolve(conv, input, shape);
}

BitTensor reference_stage(const BinaryStage& stage, std::span<const float> y,
                          const ImageShape& shape) {
  require_elements(shape, y.size());
  const FloatEnvironment environment;
  return make_bits(stage, y, shape);
}

}  // namespace qsim::golden
