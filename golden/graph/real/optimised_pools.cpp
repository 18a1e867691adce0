// Pools over all channels of a window at once: the compiler makes vectors of them.
#include <algorithm>
#include <limits>

#include "core/network/layer_arithmetic.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {
namespace {

// Calls visit(x) with the channels of each position under window (oy, ox) inside the picture.
template <typename Visit>
void visit_window(const Window& w, const Tensor& input, std::int64_t n, std::int64_t oy,
                  std::int64_t ox, Visit visit) {
  const ImageShape in = image_shape(input);
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const std::int64_t iy = window_row(w, oy, ky);
    if (iy < 0 || iy >= in.height) continue;
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t ix = window_col(w, ox, kx);
      if (ix < 0 || ix >= in.width) continue;
      visit(input.as<float>().data() + pixel_index(in, n, iy, ix));
    }
  }
}

// Calls pixel(n, oy, ox, y) for each output pixel; y are its channels.
template <typename Pixel>
void visit_pixels(const Window& window, Tensor& output, ThreadTeam& team, Pixel pixel) {
  const ImageShape out = image_shape(output);
  const std::int64_t cost = out.width * out.channels * window.kernel_h * window.kernel_w;
  divide(team, out.batch * out.height, cost, [&](std::int64_t first, std::int64_t last) {
    float* y = output.as<float>().data() + first * out.width * out.channels;
    for (std::int64_t row = first; row < last; ++row) {
      for (std::int64_t ox = 0; ox < out.width; ++ox, y += out.channels) {
        pixel(row / out.height, row % out.height, ox, y);
      }
    }
  });
}

class MaxPoolRunner : public RealLayerRunner {
 public:
  explicit MaxPoolRunner(const MaxPool& pool) : pool_(pool) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const std::size_t channels = size(output.shape[3]);
    const auto pixel = [&](std::int64_t n, std::int64_t oy, std::int64_t ox, float* y) {
      std::fill_n(y, channels, -std::numeric_limits<float>::infinity());
      visit_window(pool_.window, *operands[0], n, oy, ox, [&](const float* x) {
        for (std::size_t c = 0; c < channels; ++c) {
          y[c] = static_cast<int>(x[c] > y[c]) | static_cast<int>(x[c] != x[c]) ? x[c] : y[c];
        }
      });
      for (std::size_t c = 0; c < channels; ++c) y[c] = canonical_nan(y[c]);
    };
    visit_pixels(pool_.window, output, team, pixel);
  }

 private:
  const MaxPool& pool_;
};

class AveragePoolRunner : public RealLayerRunner {
 public:
  explicit AveragePoolRunner(const AveragePool& pool) : pool_(pool) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const std::size_t channels = size(output.shape[3]);
    const ImageShape in = image_shape(*operands[0]);
    const auto pixel = [&](std::int64_t n, std::int64_t oy, std::int64_t ox, float* y) {
      std::fill_n(y, channels, 0.0F);
      visit_window(pool_.window, *operands[0], n, oy, ox, [&](const float* x) {
        for (std::size_t c = 0; c < channels; ++c) y[c] += x[c];
      });
      const auto count = static_cast<float>(average_count(pool_, in, oy, ox));
      for (std::size_t c = 0; c < channels; ++c) y[c] = canonical_nan(y[c] / count);
    };
    visit_pixels(pool_.window, output, team, pixel);
  }

 private:
  const AveragePool& pool_;
};

}  // namespace

RealRunner make_runner(const MaxPool& pool, const ProductKernels&) {
  return std::make_unique<MaxPoolRunner>(pool);
}

RealRunner make_runner(const AveragePool& pool, const ProductKernels&) {
  return std::make_unique<AveragePoolRunner>(pool);
}

}  // namespace qsim::golden
