#include <limits>

#include "core/layer_arithmetic.h"
#include "golden/real/real_arithmetic.h"
#include "golden/real/reference_layers.h"

namespace qsim::golden {
namespace {

// Calls visit(x) for each value of channel c under window (oy, ox) that is inside the picture.
template <typename Visit>
void visit_window(const Window& w, const Tensor& x, std::int64_t n, std::int64_t oy,
                  std::int64_t ox, std::int64_t c, Visit visit) {
  const ImageShape in = image_shape(x);
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = window_row(w, oy, ky);
      const std::int64_t ix = window_col(w, ox, kx);
      if (is_inside(in, iy, ix)) visit(x.as<float>()[size(pixel_index(in, n, iy, ix) + c)]);
    }
  }
}

// y[n][oy][ox][c] = value(n, oy, ox, c).
template <typename Function>
void fill(Tensor& y, Function value) {
  const ImageShape out = image_shape(y);
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < out.batch; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t c = 0; c < out.channels; ++c) *to++ = value(n, oy, ox, c);
      }
    }
  }
}

}  // namespace

void reference_max_pool(const RealMaxPool& pool, const Tensor& x, Tensor& y) {
  fill(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) {
    float best = -std::numeric_limits<float>::infinity();
    visit_window(pool.window, x, n, oy, ox, c, [&](float value) {
      if (value > best || value != value) best = value;  // of equal ones the first; NaN stays
    });
    return canonical_nan(best);
  });
}

void reference_average_pool(const RealAveragePool& pool, const Tensor& x, Tensor& y) {
  const AveragePool counted{.window = pool.window, .count_include_pad = pool.count_include_pad};
  fill(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) {
    float sum = 0;
    visit_window(pool.window, x, n, oy, ox, c, [&](float value) { sum += value; });
    return canonical_nan(sum / static_cast<float>(average_count(counted, image_shape(x), oy, ox)));
  });
}

}  // namespace qsim::golden
