#include "quantize/layer_weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <sstream>

#include "core/base/printable.h"
#include "core/network/layer_arithmetic.h"

namespace qsim::quantize {
namespace {

constexpr int kMostExactShift = 16;
constexpr double kMostInt32 = 2147483647.0;

std::string place_of(const Layer& layer) { return layer_place(layer.name, layer.source); }

std::size_t channels_of(const DecidedWeights& decided) { return decided.bias.size(); }

std::size_t of_channel(std::size_t channel, std::size_t count) { return count == 1 ? 0 : channel; }

// The least and most exponent of weights with which the requantizer is a shift of 0..16.
ExponentLimits exponent_limits(const LayerEnds& ends) {
  if (!ends.input || !ends.output) return {};
  const auto input = Scale::of(ends.input->scale);
  const auto output = Scale::of(ends.output->scale);
  if (!input || !output || !input->log2() || !output->log2()) return {};
  const int most = *output->log2() - *input->log2();
  return {std::max(most - kMostExactShift, ExponentLimits{}.least),
          std::min(most, ExponentLimits{}.most)};
}

// One channel's levels without the zero_point.
class Channel {
 public:
  Channel(QuantizedWeights& weights, std::size_t index, std::size_t channels)
      : zero_point_(weights.zero_points[of_channel(index, weights.zero_points.size())]) {
    const auto levels = weights.levels.as<std::int16_t>();
    const std::size_t each = levels.size() / channels;
    levels_ = levels.subspan(index * each, each);
  }

  bool is_zero() const {
    return std::ranges::all_of(levels_, [&](std::int16_t level) { return level == zero_point_; });
  }
  double sum_of_magnitudes() const {
    double sum = 0;
    for (const std::int16_t level : levels_) sum += std::abs(level - zero_point_);
    return sum;
  }
  // For a scale 2^log2 times as large.
  void coarsen(int log2) {
    for (std::int16_t& level : levels_) {
      const double rounded = std::nearbyint(std::ldexp(level - zero_point_, -log2));
      level = static_cast<std::int16_t>(zero_point_ + static_cast<std::int32_t>(rounded));
    }
  }

 private:
  std::span<std::int16_t> levels_;
  std::int32_t zero_point_;
};

// Six digits, with an exponent where the number is small.
std::string text_of(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

// The largest |x'| of the tensor's type.
double widest(const Quantization& input) {
  const std::int32_t lo = input.lo < 0 ? -128 : 0;
  return std::max(lo + 255 - input.zero_point, input.zero_point - lo);
}

double product_of(const Quantization& input, float weight_scale) {
  return static_cast<double>(input.scale) * static_cast<double>(weight_scale);
}

// Whether psum and bias together stay within int32.
bool fits(double bias, double psum, double product) {
  return std::abs(std::nearbyint(bias / static_cast<double>(static_cast<float>(product)))) + psum <=
         kMostInt32;
}

// The finest scale whose requantizer is at most a shift of 16, and which holds the bias.
float scale_of_zeros(const LayerEnds& ends, float bias) {
  const double ratio =
      static_cast<double>(ends.output->scale) / static_cast<double>(ends.input->scale);
  float scale = 1;
  for (int shift = kMostExactShift; shift >= 0; --shift) {
    scale =
        static_cast<float>(std::clamp(std::ldexp(ratio, -shift), double{FLT_MIN}, double{FLT_MAX}));
    if (fits(bias, 0, product_of(*ends.input, scale))) break;
  }
  return scale;
}

// One scale for all channels.
void fit_scale(const LayerEnds& ends, DecidedWeights& decided) {
  float most = 0;
  for (std::size_t c = 0; c < channels_of(decided); ++c) {
    if (!Channel(decided.weights, c, channels_of(decided)).is_zero()) return;
    most = std::max(most, std::abs(decided.bias[c]));
  }
  decided.weights.scales[0] = scale_of_zeros(ends, most);
}

void fit_scales(const LayerEnds& ends, DecidedWeights& decided) {
  QuantizedWeights& weights = decided.weights;
  const std::size_t channels = channels_of(decided);
  if (!ends.input || !ends.output) return;
  if (weights.scales.size() != channels) return fit_scale(ends, decided);
  for (std::size_t c = 0; c < channels; ++c) {
    Channel channel(weights, c, channels);
    float& scale = weights.scales[c];
    const float bias = decided.bias[c];
    if (!channel.is_zero()) {
      int log2 = 0;
      const double psum = channel.sum_of_magnitudes() * widest(*ends.input);
      while (psum <= kMostInt32 && log2 < 63 &&
             !fits(bias, psum, std::ldexp(product_of(*ends.input, scale), log2))) {
        ++log2;
      }
      channel.coarsen(log2);
      if (log2 > 0) scale = std::ldexp(scale, log2);
    }
    if (channel.is_zero()) scale = scale_of_zeros(ends, bias);
  }
}

void check_decided(const Layer& layer, const RealWeights& real, const DecidedWeights& decided) {
  const QuantizedWeights& weights = decided.weights;
  const std::size_t channels = static_cast<std::size_t>(real.weights->shape[0]);
  const auto is_count = [&](std::size_t count) { return count == 1 || count == channels; };
  QSIM_CHECK(weights.levels.shape == real.weights->shape && is_count(weights.scales.size()) &&
                 weights.zero_points.size() == weights.scales.size() &&
                 decided.bias.size() == channels,
             layer.name + ": decided weights of another shape");
  for (const float bias : decided.bias) {
    if (std::isfinite(bias)) continue;
    throw_bad_input(place_of(layer) + ": a bias is " + std::to_string(bias) +
                    "; expected finite numbers");
  }
}

// As they are stored, of levels 0..255 where they have a zero_point.
WeightScales stored_weights(const Layer& layer, const QuantizedWeights& weights) {
  const auto levels = weights.levels.as<std::int16_t>();
  const auto [least, most] = std::ranges::minmax(levels);
  const bool has_zeros = std::ranges::any_of(weights.zero_points, [](auto z) { return z != 0; });
  if (!has_zeros && least >= -128 && most <= 127) return {weights.scales, {}};
  const auto [least_zero, most_zero] = std::ranges::minmax(weights.zero_points);
  const std::int32_t moved = least < 0 || least_zero < 0 ? 128 : 0;
  const bool holds = least + moved >= 0 && most + moved <= 255 && least_zero + moved >= 0 &&
                     most_zero + moved <= 255;
  if (!holds) {
    throw_unsupported(place_of(layer) + ": its weights are integers of " + std::to_string(least) +
                      ".." + std::to_string(most) + "; supported: what 8 bits hold");
  }
  WeightScales stored{weights.scales, weights.zero_points};
  for (std::int32_t& zero : stored.zero_points) zero += moved;
  return stored;
}

Tensor centred(const QuantizedWeights& weights, std::size_t channels) {
  const auto levels = weights.levels.as<std::int16_t>();
  const std::size_t each = levels.size() / channels;
  std::vector<std::int16_t> wide(levels.size());
  bool fits_int8 = true;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::size_t zero = of_channel(i / each, weights.zero_points.size());
    wide[i] = static_cast<std::int16_t>(levels[i] - weights.zero_points[zero]);
    fits_int8 = fits_int8 && wide[i] >= -128 && wide[i] <= 127;
  }
  if (!fits_int8) return make_tensor<std::int16_t>(weights.levels.shape, wide);
  Tensor narrow(DType::kInt8, weights.levels.shape);
  std::ranges::transform(wide, narrow.as<std::int8_t>().begin(),
                         [](std::int16_t level) { return static_cast<std::int8_t>(level); });
  return narrow;
}

template <typename AnyTensor, typename AnyOperation>
std::optional<WeightsAndBias<AnyTensor>> found_in(AnyOperation& operation) {
  return std::visit(
      [](auto& each) -> std::optional<WeightsAndBias<AnyTensor>> {
        if constexpr (requires { each.weights; }) {
          return WeightsAndBias<AnyTensor>{&each.weights, &each.bias};
        }
        return std::nullopt;
      },
      operation);
}

}  // namespace

std::optional<RealWeights> weights_of(const Operation& operation) {
  return found_in<const Tensor>(operation);
}

std::optional<WeightsAndBias<Tensor>> weights_of(Operation& operation) {
  return found_in<Tensor>(operation);
}

namespace {

std::string writer_place(const Graph& graph, TensorId tensor) {
  for (const Layer& layer : graph.layers) {
    if (layer.output == tensor) return place_of(layer);
  }
  return "the input";
}

}  // namespace

std::vector<LayerEnds> ends_of(const Graph& graph, const Fusion& fusion,
                               const TensorQuantizations& tensors) {
  std::vector<std::optional<Quantization>> of_group(graph.tensors.size());
  for (TensorId tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    const auto& content = fusion.content[tensor];
    if (!content || !tensors[*content]) continue;
    auto& known = of_group[fusion.group[tensor]];
    if (known && *known != *tensors[*content]) {
      throw_bad_input("the output of " + writer_place(graph, *content) +
                      " has another quantization than a tensor that holds the same numbers; "
                      "expected one for both");
    }
    known = tensors[*content];
  }
  std::vector<LayerEnds> ends;
  for (const FusedLayer& fused : fusion.layers) {
    const Layer& layer = graph.layers[fused.layer];
    ends.push_back({of_group[fusion.group[fusion.held_in[layer.inputs[0]]]],
                    of_group[fusion.group[layer.output]]});
  }
  return ends;
}

DecidedWeights decide_weights(const Layer& layer, const LayerScheme& scheme, const LayerEnds& ends,
                              const LayerWeights& given) {
  const auto real = weights_of(layer.operation);
  QSIM_CHECK(real.has_value(), layer.name + " has no weights");
  WeightScheme weights = scheme.weights;
  weights.kind = scheme.kind;
  const auto bias = real->bias->as<float>();
  DecidedWeights decided{given.weights ? *given.weights
                                       : quantize_weights(*real->weights, weights, place_of(layer),
                                                          exponent_limits(ends)),
                         given.bias ? *given.bias : std::vector<float>(bias.begin(), bias.end())};
  check_decided(layer, *real, decided);
  if (!given.keeps_scales) fit_scales(ends, decided);
  return decided;
}

IntegerWeights integer_weights(const Layer& layer, const DecidedWeights& decided,
                               const Quantization& input, const Quantization& output) {
  const std::string place = place_of(layer);
  const std::size_t channels = channels_of(decided);
  IntegerWeights result;
  result.stored = stored_weights(layer, decided.weights);
  result.weights = centred(decided.weights, channels);
  for (const float scale : decided.weights.scales) {
    const auto requantizer =
        product_requantizer(product_of(input, scale), output.scale, RequantizerRounding::kFloat32);
    if (!requantizer) {
      throw_bad_input(place + ": output channel " + std::to_string(result.requantizers.size()) +
                      " needs the scale " + text_of(product_of(input, scale)) + " / " +
                      text_of(output.scale) + "; expected positive float32 numbers");
    }
    result.requantizers.push_back(*requantizer);
  }
  result.bias = Tensor(DType::kInt32, {static_cast<std::int64_t>(channels)});
  QuantizedWeights weights = decided.weights;
  for (std::size_t c = 0; c < channels; ++c) {
    const float scale = weights.scales[of_channel(c, weights.scales.size())];
    const auto bias = bias_level(decided.bias[c], product_of(input, scale));
    if (!bias) {
      throw_bad_input(place + ": bias[" + std::to_string(c) + "] = " + text_of(decided.bias[c]) +
                      " leaves int32 in units of " + text_of(product_of(input, scale)) +
                      "; allowed: a bias below 2^31 units; a scale an output channel helps");
    }
    result.bias.as<std::int32_t>()[c] = *bias;
    const double psum = Channel(weights, c, channels).sum_of_magnitudes() * widest(input);
    if (psum + std::abs(static_cast<double>(*bias)) <= kMostInt32) continue;
    throw_unsupported(place + ": psums of output channel " + std::to_string(c) +
                      " may leave int32; supported: fewer weights, or fewer bits of them");
  }
  return result;
}

}  // namespace qsim::quantize
