// Sums of products of a depthwise convolution: each output channel reads one input channel, so the
// channels are the vectors, and a list of pointers says where the inputs under the kernel lie.
#pragma once

#include <vector>

#include "golden/graph/real/product_kernels.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {

// The inputs under the kernel at one output pixel, a pointer to channel 0 for each position.
using Taps = const float* const*;

class DepthwiseProducts {
 public:
  DepthwiseProducts(const Window& window, std::int64_t channels, const ProductKernels& kernels)
      : window_(window),
        kernels_(kernels),
        channels_(size(channels)),
        taps_(size(window.kernel_h * window.kernel_w)),
        outside_(channels_, 0.0F) {}

  std::size_t channels() const { return channels_; }

  // Weights `factors`, [channels][taps].
  void add_band(const float* factors);

  // sums[c] = start[c] + the chunk sums with the weights of a band; a NaN is the canonical one.
  void multiply(std::size_t band, Taps taps, const float* start, float* sums) const {
    kernels_.depthwise({taps, bands_[band].data(), start, taps_, channels_, sums});
  }

  // Calls pixel(n, taps, y) for each output pixel of picture n; y are its channels. It is copied
  // for each part of the work, so it may have scratch of its own.
  template <typename Pixel>
  void run(const Tensor& input, Tensor& output, ThreadTeam& team, const Pixel& pixel) const {
    const ImageShape out = image_shape(output);
    const std::int64_t row_cost = out.width * out.channels * static_cast<std::int64_t>(taps_);
    divide(team, out.batch * out.height, row_cost, [&](std::int64_t first, std::int64_t last) {
      std::vector<const float*> taps(taps_);
      Pixel own = pixel;
      for (std::int64_t row = first; row < last; ++row) {
        float* y = output.as<float>().data() + row * out.width * out.channels;
        for (std::int64_t ox = 0; ox < out.width; ++ox, y += out.channels) {
          find_taps(input, row / out.height, row % out.height, ox, taps);
          own(row / out.height, taps.data(), y);
        }
      }
    });
  }

 private:
  void find_taps(const Tensor& input, std::int64_t n, std::int64_t oy, std::int64_t ox,
                 std::vector<const float*>& taps) const;

  Window window_;
  const ProductKernels& kernels_;
  std::size_t channels_;
  std::size_t taps_;
  std::vector<float> outside_;             // a pixel outside the picture
  std::vector<std::vector<float>> bands_;  // each [taps][channels]
};

}  // namespace qsim::golden
