// The definition of every layer as plain loops, one function a layer. Written to be read and
// checked by eye, not to be fast. Operands and `y` are float32 [N][H][W][C]; y has its shape.
#include <limits>

#include "core/network/float_rules.h"
#include "core/network/layer_arithmetic.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {
namespace {

// Output (n, oy, ox, co).
float conv2d_at(const Conv2d& conv, const Tensor& x, std::int64_t n, std::int64_t oy,
                std::int64_t ox, std::int64_t co) {
  const ImageShape in = image_shape(x);
  const Window& w = conv.window;
  const std::int64_t channels = conv.weights.shape[3];
  const std::int64_t group = co / (conv.weights.shape[0] / conv.groups);
  const float* weight = conv.weights.as<float>().data() + co * w.kernel_h * w.kernel_w * channels;
  ChunkedSum sum(conv.bias.as<float>()[size(co)]);
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = window_row(w, oy, ky);
      const std::int64_t ix = window_col(w, ox, kx);
      for (std::int64_t ci = 0; ci < channels; ++ci) {
        // A position outside the picture is the number +0.
        const float value =
            is_inside(in, iy, ix)
                ? x.as<float>()[size(pixel_index(in, n, iy, ix) + group * channels + ci)]
                : 0.0F;
        sum.add(value, *weight++);
      }
    }
  }
  return canonical_nan(sum.finish());
}

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

void reference(const Conv2d& conv, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  const ImageShape out = image_shape(y);
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < out.batch; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t co = 0; co < out.channels; ++co) {
          *to++ = conv2d_at(conv, x, n, oy, ox, co);
        }
      }
    }
  }
}

void reference(const FullyConnected& fc, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  const std::int64_t outputs = fc.weights.shape[0];
  const std::int64_t inputs = fc.weights.shape[1];
  const float* from = x.as<float>().data();
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < x.shape[0]; ++n, from += inputs) {
    const float* weight = fc.weights.as<float>().data();
    for (std::int64_t co = 0; co < outputs; ++co) {
      ChunkedSum sum(fc.bias.as<float>()[size(co)]);
      for (std::int64_t k = 0; k < inputs; ++k) sum.add(from[k], *weight++);
      *to++ = canonical_nan(sum.finish());
    }
  }
}

void reference(const MaxPool& pool, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  fill(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) {
    float best = -std::numeric_limits<float>::infinity();
    visit_window(pool.window, x, n, oy, ox, c, [&](float value) {
      if (value > best || value != value) best = value;  // of equal ones the first; NaN stays
    });
    return canonical_nan(best);
  });
}

void reference(const AveragePool& pool, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  fill(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) {
    float sum = 0;
    visit_window(pool.window, x, n, oy, ox, c, [&](float value) { sum += value; });
    return canonical_nan(sum / static_cast<float>(average_count(pool, image_shape(x), oy, ox)));
  });
}

void reference(const Add&, RealOperands operands, Tensor& y) {
  const Tensor& a = *operands[0];
  const Tensor& b = *operands[1];
  const std::span<float> to = y.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = canonical_nan(a.as<float>()[i] + b.as<float>()[i]);
  }
}

void reference(const Activation& activation, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  const std::span<float> to = y.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = canonical_nan(activated(activation, x.as<float>()[i]));
  }
}

void reference(const PRelu& prelu, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  const std::span<const float> slopes = prelu.slopes.as<float>();
  const std::span<float> to = y.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const float value = x.as<float>()[i];
    const float slope = slopes[slopes.size() == 1 ? 0 : i % slopes.size()];
    to[i] = canonical_nan(value >= 0 ? value : slope * value);
  }
}

void reference(const Concat&, RealOperands operands, Tensor& y) {
  const ImageShape out = image_shape(y);
  for (std::int64_t pixel = 0; pixel < out.batch * out.height * out.width; ++pixel) {
    float* to = y.as<float>().data() + pixel * out.channels;
    for (const Tensor* operand : operands) {
      const std::int64_t channels = operand->shape[3];
      for (std::int64_t c = 0; c < channels; ++c) {
        *to++ = operand->as<float>()[size(pixel * channels + c)];
      }
    }
  }
}

void reference(const Flatten& flatten, RealOperands operands, Tensor& y) {
  const Tensor& x = *operands[0];
  const ImageShape in = image_shape(x);
  const bool chw = flatten.order == Flatten::Order::kChw;
  for (std::int64_t n = 0; n < in.batch; ++n) {
    for (std::int64_t iy = 0; iy < in.height; ++iy) {
      for (std::int64_t ix = 0; ix < in.width; ++ix) {
        for (std::int64_t c = 0; c < in.channels; ++c) {
          const std::int64_t to =
              chw ? (c * in.height + iy) * in.width + ix : (iy * in.width + ix) * in.channels + c;
          y.as<float>()[size(n * in.height * in.width * in.channels + to)] =
              x.as<float>()[size(pixel_index(in, n, iy, ix) + c)];
        }
      }
    }
  }
}

class PlainLayer : public RealLayerRunner {
 public:
  explicit PlainLayer(const Layer& layer) : layer_(layer) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam&) const override {
    visit_real(layer_.operation,
               [&](const auto& operation) { reference(operation, operands, output); });
  }

 private:
  const Layer& layer_;
};

}  // namespace

RealRunner make_plain_layer(const Layer& layer) { return std::make_unique<PlainLayer>(layer); }

}  // namespace qsim::golden
