// Layers with integer weights on the vector kernels of float32 (integer_factors.h).
#include "golden/real/blocked_products.h"
#include "golden/real/depthwise_products.h"
#include "golden/real/integer_factors.h"

namespace qsim::golden {
namespace {

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

RealRunner make_optimised_integer_layer(const RealLayer& layer, const RealLayerWeights& weights,
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
