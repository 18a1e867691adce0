// Layers with integer weights on the vector kernels of float32.

#include <vector>

#include "golden/graph/real/blocked_products.h"
#include "golden/graph/real/depthwise_products.h"
#include "golden/graph/real/integer_layer.h"

namespace qsim::golden {
namespace {

// Integer weights as the float32 numbers that the vector kernels multiply with. Integers of 8 bits
// and a sign have products below 2^16, so the 256 of a chunk add up to less than 2^24: float32 sums
// them exactly. Powers of two are cut into bands of kBandExponents exponents for the same reason.
constexpr std::int32_t kBandExponents = 9;  // 255 * 2^8 * 256 < 2^24

// A part of a layer's weights, [Cout][depth], whose products count 2^shift.
struct FactorBand {
  std::vector<float> factors;
  int shift = 0;
};

template <typename Weights>
FactorBand whole_band(const Weights& weights, std::size_t count, std::int64_t depth) {
  FactorBand band{std::vector<float>(count), 0};
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(i);
    band.factors[i] = weight_factor(weights, index, index / depth);
  }
  return band;
}

// The weights with exponents from `first` on, as +-2^(exponent - first).
FactorBand exponents_from(const Log2Weights& weights, std::int32_t first) {
  FactorBand band{std::vector<float>(weights.signs.bytes.size()), first - weights.lo};
  for (std::size_t i = 0; i < band.factors.size(); ++i) {
    const int shift = weights.exponents.as<std::int8_t>()[i] - first;
    if (shift < 0 || shift >= kBandExponents) continue;
    band.factors[i] = static_cast<float>(weights.signs.as<std::int8_t>()[i]) *
                      static_cast<float>(std::int32_t{1} << shift);
  }
  return band;
}

// Sum of them all: the layer's weights over their scales. One band for a weight-only layer.
std::vector<FactorBand> factor_bands(const RealLayerWeights& weights, std::int64_t depth) {
  std::vector<FactorBand> bands;
  if (const auto* integers = std::get_if<IntegerWeights>(&weights.weights)) {
    bands.push_back(
        whole_band(*integers, static_cast<std::size_t>(integers->levels.elems()), depth));
    return bands;
  }
  const auto& powers = std::get<Log2Weights>(weights.weights);
  if (!weights.input) {
    bands.push_back(whole_band(powers, powers.signs.bytes.size(), depth));
    return bands;
  }
  for (std::int32_t first = powers.lo; first <= powers.hi; first += kBandExponents) {
    bands.push_back(exponents_from(powers, first));
  }
  return bands;
}

// By output channel: what a sum is multiplied with, besides the scale of an integer input.
std::vector<float> sum_scales(const RealLayerWeights& weights, std::int64_t outputs) {
  std::vector<float> scales;
  for (std::int64_t c = 0; c < outputs; ++c) {
    scales.push_back(std::visit(
        [&](const auto& one) {
          return weights.input ? integer_scale(one, c) : of_channel(one.scales, c);
        },
        weights.weights));
  }
  return scales;
}

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

class IntegerRunner : public RealLayerRunner {
 public:
  IntegerRunner(const WeightedLayer& layer, const RealLayerWeights& weights,
                const ProductKernels& kernels)
      : input_(weights.input),
        channels_{sum_scales(weights, layer.outputs()), layer.bias->as<float>().data()},
        products_(layer.window, layer.groups, layer.outputs(), layer.channels(), kernels) {
    for (const FactorBand& band : factor_bands(weights, layer.depth())) {
      products_.add_band(band.factors.data(), band.shift);
    }
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    if (!input_) {
      products_.run(*operands[0], output, team, WeightOnlyStage{channels_});
      return;
    }
    const QuantizedInput input = quantize_input(*input_, *operands[0], team);
    products_.run(input.levels, output, team, IntegerStage{channels_, input.scales});
  }

 private:
  std::optional<InputRule> input_;
  ChannelNumbers channels_;
  BlockedProducts products_;
};

// Kernels of one chunk: then the chunk sum is the sum.
class IntegerDepthwiseRunner : public RealLayerRunner {
 public:
  IntegerDepthwiseRunner(const WeightedLayer& layer, const RealLayerWeights& weights,
                         const ProductKernels& kernels)
      : input_(weights.input),
        channels_{sum_scales(weights, layer.outputs()), layer.bias->as<float>().data()},
        zeros_(size(layer.outputs()), 0.0F),
        products_(layer.window, layer.outputs(), kernels) {
    for (const FactorBand& band : factor_bands(weights, layer.depth())) {
      products_.add_band(band.factors.data());
      shifts_.push_back(band.shift);
    }
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    if (!input_) {
      products_.run(*operands[0], output, team,
                    [&](std::int64_t, Taps taps, float* y) { weight_only_pixel(taps, y); });
      return;
    }
    const QuantizedInput input = quantize_input(*input_, *operands[0], team);
    const std::size_t count = products_.channels();
    const auto pixel = [&, sums = std::vector<float>(count),
                        totals = std::vector<std::int64_t>(count)](std::int64_t n, Taps taps,
                                                                   float* y) mutable {
      integer_pixel(taps, input.scales[size(n)], sums, totals, y);
    };
    products_.run(input.levels, output, team, pixel);
  }

 private:
  void weight_only_pixel(Taps taps, float* y) const {
    products_.multiply(0, taps, zeros_.data(), y);
    for (std::size_t c = 0; c < zeros_.size(); ++c) {
      y[c] = canonical_nan(y[c] * channels_.scales[c] + channels_.bias[c]);
    }
  }

  void integer_pixel(Taps taps, float input_scale, std::vector<float>& sums,
                     std::vector<std::int64_t>& totals, float* y) const {
    std::fill(totals.begin(), totals.end(), 0);
    for (std::size_t band = 0; band < shifts_.size(); ++band) {
      products_.multiply(band, taps, zeros_.data(), sums.data());
      for (std::size_t c = 0; c < sums.size(); ++c) {
        totals[c] += static_cast<std::int64_t>(static_cast<std::int32_t>(sums[c])) << shifts_[band];
      }
    }
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const float scaled = static_cast<float>(totals[c]) * (input_scale * channels_.scales[c]);
      y[c] = canonical_nan(scaled + channels_.bias[c]);
    }
  }

  std::optional<InputRule> input_;
  ChannelNumbers channels_;
  std::vector<float> zeros_;
  std::vector<int> shifts_;  // by band
  DepthwiseProducts products_;
};

}  // namespace

RealRunner make_optimised_integer_layer(const Layer& layer, const RealLayerWeights& weights,
                                        const ProductKernels& kernels) {
  const WeightedLayer weighted = weighted_layer(layer);
  const bool depthwise = weighted.channels() == 1 && weighted.groups == weighted.outputs() &&
                         weighted.depth() <= kChunk;
  if (depthwise && weighted.groups > 1) {
    return std::make_unique<IntegerDepthwiseRunner>(weighted, weights, kernels);
  }
  return std::make_unique<IntegerRunner>(weighted, weights, kernels);
}

}  // namespace qsim::golden
