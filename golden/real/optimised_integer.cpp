// Layers with integer weights on the vector kernels of float32. Integers of 8 bits and a sign have
// products below 2^16, so the 256 of a chunk add up to less than 2^24: float32 sums them exactly.
// Powers of two are cut into bands of kBandExponents exponents for the same reason.
#include "golden/real/blocked_products.h"
#include "golden/real/integer_layer.h"

namespace qsim::golden {
namespace {

constexpr std::int32_t kBandExponents = 9;  // 255 * 2^8 * 256 < 2^24

using Weights = std::variant<IntegerWeights, Log2Weights>;

// By output channel.
struct ChannelNumbers {
  std::vector<float> scales;
  const float* bias;
};

// Calls pixel(n, sums, to) for each row of the block.
template <typename Sum, typename Pixel>
void visit_rows(const SumBlock& block, const Sum* sums, Tensor& output, Pixel pixel) {
  const std::int64_t pitch = output.shape[3];
  const std::int64_t of_picture = output.shape[1] * output.shape[2];
  float* to = output.as<float>().data() + block.first_pixel * pitch + block.first_channel;
  for (std::int64_t r = 0; r < block.pixels; ++r, sums += block.pitch, to += pitch) {
    pixel((block.first_pixel + r) / of_picture, sums, to);
  }
}

struct WeightOnlyStage {
  using Sum = float;
  const ChannelNumbers& channels;

  void start(const SumBlock& block, float* sums) const {
    std::fill_n(sums, size(block.pixels) * block.pitch, 0.0F);
  }
  void finish(const SumBlock& block, const float* sums, Tensor& output) const {
    const float* scale = channels.scales.data() + block.first_channel;
    const float* bias = channels.bias + block.first_channel;
    visit_rows(block, sums, output, [&](std::int64_t, const float* from, float* to) {
      for (std::size_t c = 0; c < block.channels; ++c) {
        to[c] = canonical_nan(from[c] * scale[c] + bias[c]);
      }
    });
  }
};

struct IntegerStage {
  using Sum = std::int64_t;
  const ChannelNumbers& channels;
  const std::vector<float>& input_scales;  // by picture

  void start(const SumBlock& block, std::int64_t* sums) const {
    std::fill_n(sums, size(block.pixels) * block.pitch, 0);
  }
  void finish(const SumBlock& block, const std::int64_t* sums, Tensor& output) const {
    const float* scale = channels.scales.data() + block.first_channel;
    const float* bias = channels.bias + block.first_channel;
    visit_rows(block, sums, output, [&](std::int64_t n, const std::int64_t* from, float* to) {
      const float input_scale = input_scales[size(n)];
      for (std::size_t c = 0; c < block.channels; ++c) {
        const float scaled = static_cast<float>(from[c]) * (input_scale * scale[c]);
        to[c] = canonical_nan(scaled + bias[c]);
      }
    });
  }
};

// The weights that the kernels multiply with, [Cout][depth].
std::vector<float> all_factors(const WeightedLayer& layer, const Weights& weights) {
  std::vector<float> factors(size(layer.weights->elems()));
  const std::int64_t depth = layer.depth();
  std::visit(
      [&](const auto& one) {
        for (std::int64_t i = 0; i < std::ssize(factors); ++i) {
          factors[size(i)] = weight_factor(one, i, i / depth);
        }
      },
      weights);
  return factors;
}

// The weights of a band: those with exponents from `first` on, as +-2^(exponent - first).
std::vector<float> band_factors(const Log2Weights& weights, std::int32_t first) {
  std::vector<float> factors(weights.signs.bytes.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const int shift = weights.exponents.as<std::int8_t>()[i] - first;
    if (shift < 0 || shift >= kBandExponents) continue;
    factors[i] = static_cast<float>(weights.signs.as<std::int8_t>()[i]) *
                 static_cast<float>(std::int32_t{1} << shift);
  }
  return factors;
}

class IntegerRunner : public RealLayerRunner {
 public:
  IntegerRunner(const WeightedLayer& layer, const RealLayerWeights& weights,
                const ProductKernels& kernels)
      : weights_(weights),
        channels_{{}, layer.bias->as<float>().data()},
        products_(layer.window, layer.groups, layer.outputs(), layer.channels(), kernels) {
    std::visit([&](const auto& one) { take(layer, one); }, weights.weights);
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    if (!weights_.input) {
      products_.run(*operands[0], output, team, WeightOnlyStage{channels_});
      return;
    }
    const QuantizedInput input = quantize_input(*weights_.input, *operands[0], team);
    products_.run(input.levels, output, team, IntegerStage{channels_, input.scales});
  }

 private:
  template <typename SomeWeights>
  void take(const WeightedLayer& layer, const SomeWeights& weights) {
    for (std::int64_t c = 0; c < layer.outputs(); ++c) {
      channels_.scales.push_back(weights_.input ? integer_scale(weights, c)
                                                : of_channel(weights.scales, c));
    }
    if constexpr (std::is_same_v<SomeWeights, Log2Weights>) {
      for (std::int32_t e = weights.lo; weights_.input && e <= weights.hi; e += kBandExponents) {
        products_.add_band(band_factors(weights, e).data(), e - weights.lo);
      }
      if (weights_.input) return;
    }
    products_.add_band(all_factors(layer, weights_.weights).data(), 0);
  }

  const RealLayerWeights& weights_;
  ChannelNumbers channels_;
  BlockedProducts products_;
};

}  // namespace

RealRunner make_optimised_integer_layer(const RealLayer& layer, const RealLayerWeights& weights,
                                        const ProductKernels& kernels) {
  return std::make_unique<IntegerRunner>(weighted_layer(layer), weights, kernels);
}

}  // namespace qsim::golden
