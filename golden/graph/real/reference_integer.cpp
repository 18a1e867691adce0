// Layers with integer weights as plain loops.
#include "golden/graph/real/integer_layer.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/reference_rules.h"

namespace qsim::golden {
namespace {

// Calls visit(at, index) for each product of output (n, oy, ox, co) in its order: element `at` of
// the input, or -1 outside the picture, and element `index` of the weights.
template <typename Visit>
void visit_products(const WeightedLayer& layer, const ImageShape& in, std::int64_t n,
                    std::int64_t oy, std::int64_t ox, std::int64_t co, Visit visit) {
  const Window& w = layer.window;
  const std::int64_t first = co / (layer.outputs() / layer.groups) * layer.channels();
  std::int64_t index = co * layer.depth();
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = window_row(w, oy, ky);
      const std::int64_t ix = window_col(w, ox, kx);
      for (std::int64_t ci = 0; ci < layer.channels(); ++ci) {
        visit(is_inside(in, iy, ix) ? pixel_index(in, n, iy, ix) + first + ci : -1, index++);
      }
    }
  }
}

// y[n][oy][ox][co] = value(n, oy, ox, co), a NaN the canonical one.
template <typename Function>
void fill_canonical(Tensor& y, Function value) {
  const ImageShape out = image_shape(y);
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < out.batch; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        for (std::int64_t co = 0; co < out.channels; ++co) {
          *to++ = canonical_nan(value(n, oy, ox, co));
        }
      }
    }
  }
}

// What a level adds to the sum: for a power of two the level, shifted.
std::int64_t product(const IntegerWeights& weights, std::int64_t level, std::int64_t index,
                     std::int64_t channel) {
  return level * integer_weight(weights, index, channel);
}
std::int64_t product(const Log2Weights& weights, std::int64_t level, std::int64_t index,
                     std::int64_t) {
  const int sign = weights.signs.as<std::int8_t>()[size(index)];
  if (sign == 0) return 0;
  const std::int64_t shifted = level
                               << (weights.exponents.as<std::int8_t>()[size(index)] - weights.lo);
  return sign < 0 ? -shifted : shifted;
}

template <typename Weights>
void weight_only(const WeightedLayer& layer, const Weights& weights, const Tensor& x, Tensor& y) {
  const std::span<const float> values = x.as<float>();
  fill_canonical(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t co) {
    ChunkedSum sum(0);
    visit_products(layer, image_shape(x), n, oy, ox, co, [&](std::int64_t at, std::int64_t index) {
      sum.add(at < 0 ? 0.0F : values[size(at)], weight_factor(weights, index, co));
    });
    const float scaled = sum.finish() * of_channel(weights.scales, co);
    return scaled + layer.bias->as<float>()[size(co)];
  });
}

template <typename Weights>
void integer(const WeightedLayer& layer, const Weights& weights, const InputRule& input,
             const Tensor& x, Tensor& y) {
  const std::vector<UniformRule> rules = reference_uniform_rules(input, x);
  const std::span<const float> values = x.as<float>();
  fill_canonical(y, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t co) {
    const UniformRule& rule = rules[size(n)];
    std::int64_t sum = 0;
    visit_products(layer, image_shape(x), n, oy, ox, co, [&](std::int64_t at, std::int64_t index) {
      if (at < 0) return;
      sum += product(weights, level_of(rule, values[size(at)]) - rule.zero_point, index, co);
    });
    const float scale = rule.scale * integer_scale(weights, co);
    const float scaled = static_cast<float>(sum) * scale;
    return scaled + layer.bias->as<float>()[size(co)];
  });
}

class PlainIntegerLayer : public RealLayerRunner {
 public:
  PlainIntegerLayer(const Layer& layer, const RealLayerWeights& weights)
      : layer_(weighted_layer(layer)), weights_(weights) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam&) const override {
    weights_.input ? reference_integer(layer_, weights_, *operands[0], output)
                   : reference_weight_only(layer_, weights_, *operands[0], output);
  }

 private:
  WeightedLayer layer_;
  const RealLayerWeights& weights_;
};

}  // namespace

void reference_weight_only(const WeightedLayer& layer, const RealLayerWeights& weights,
                           const Tensor& x, Tensor& y) {
  std::visit([&](const auto& one) { weight_only(layer, one, x, y); }, weights.weights);
}

void reference_integer(const WeightedLayer& layer, const RealLayerWeights& weights, const Tensor& x,
                       Tensor& y) {
  std::visit([&](const auto& one) { integer(layer, one, *weights.input, x, y); }, weights.weights);
}

RealRunner make_plain_integer_layer(const Layer& layer, const RealLayerWeights& weights) {
  return std::make_unique<PlainIntegerLayer>(layer, weights);
}

}  // namespace qsim::golden
