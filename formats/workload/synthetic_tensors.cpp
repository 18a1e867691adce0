// The derivation. Let x be an input value minus its zero_point, with mean m and variance v, and let
// the K weights w of an output channel be independent with mean 0 and mean square r^2. The bias
// holds -m * sum(w), so acc + bias = sum of w * (x - m) over the window, where a position outside
// the picture contributes w * (0 - m). Over output channels that is nearly normal with mean 0 and
//   sigma_acc^2 = K r^2 (inside * v + (1 - inside) * m^2)
// or, with weights that add up to zero, K r^2 (inside * v + inside * (1 - inside) * m^2). The shift
// s and r are chosen so that sigma_acc / 2^s is the wanted spread of the ofmap, and the bias adds
// the wanted mean.
#include "formats/workload/synthetic_tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/words.h"

namespace qsim::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "draws are cut into bytes");

constexpr double kUniformByteRms = 73.9;  // of -128..127: sqrt((256^2 - 1) / 12 + 1 / 4)
constexpr int kFullAmplitude = 128;       // weight = byte * amplitude / 128
constexpr std::int64_t kMaxBalance = 7;
constexpr double kMaxBias = 0x1p30;  // leaves as much of an int32 for the products
constexpr int kMaxBalanced = kFullAmplitude - static_cast<int>(kMaxBalance) - 1;

// Uniform bytes, eight from each draw.
void fill_bytes(std::span<std::byte> bytes, Random& random) {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t draw = random.next();
    std::memcpy(bytes.data() + at, &draw, 8);
  }
  if (at < bytes.size()) {
    const std::uint64_t draw = random.next();
    std::memcpy(bytes.data() + at, &draw, bytes.size() - at);
  }
}

std::int64_t sum_of(std::span<const std::int8_t> weights) {
  constexpr std::size_t kChunk = 4096;  // 4096 * 128 fits an int32
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kChunk) {
    std::int32_t chunk_sum = 0;
    for (const std::int8_t weight :
         weights.subspan(begin).first(std::min(kChunk, weights.size() - begin))) {
      chunk_sum += weight;
    }
    sum += chunk_sum;
  }
  return sum;
}

// Scales uniform bytes to weights of at most `amplitude`.
void scale_weights(std::span<std::int8_t> weights, int amplitude) {
  for (std::int8_t& weight : weights) {
    const auto scaled = static_cast<std::int16_t>(weight * amplitude);
    weight = static_cast<std::int8_t>(scaled >> 7);
  }
}

// Brings the sum of one output channel's weights to zero, or near it where they are few, so that an
// error of the predicted input mean does not shift the ofmap. No weight changes by more than
// kMaxBalance + 1.
void balance_weights(std::span<std::int8_t> weights) {
  const auto count = static_cast<std::int64_t>(weights.size());
  const std::int64_t sum = sum_of(weights);
  const std::int64_t each =
      std::clamp((2 * sum + (sum < 0 ? -count : count)) / (2 * count), -kMaxBalance, kMaxBalance);
  for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(weight - each);
  const std::int64_t rest = sum - each * count;
  const int step = rest < 0 ? -1 : 1;
  const auto touched = static_cast<std::size_t>(std::min(std::abs(rest), count));
  for (std::int8_t& weight : weights.first(touched)) {
    weight = static_cast<std::int8_t>(weight - step);
  }
}

// Mean and spread of the ofmap, in its steps above zero_point. With a ReLU the mean lies one sigma
// above the zero point, so that 16% are zeros, and the upper clamp three sigma above the mean.
// Without, the range is six sigma wide.
struct Spread {
  double mean = 0;
  double mean_sigmas = 0;  // added to the mean: so many times the sigma that comes out
  double sigma = 1;
};

Spread wanted_spread(const OfmapTarget& target) {
  const Value& output = target.output;
  Spread spread;
  if (target.relu) {
    spread.sigma = std::max(1.0, (output.max() - output.zero_point) / 4.0);
    spread.mean_sigmas = 1;
  } else {
    spread.sigma = (output.max() - output.min()) / 6.0;
    // A symmetric type keeps its zero; others are centred.
    spread.mean = output.zero_point == 0 && !output.is_unsigned()
                      ? 0
                      : (output.max() + output.min()) / 2.0 - output.zero_point;
  }
  if (target.bias_mean) spread = {*target.bias_mean, 0, spread.sigma};
  return spread;
}

// One output channel's shift and weight amplitude, and what is one step of the ofmap in psums.
struct Scaling {
  int shift = 0;
  int amplitude = kFullAmplitude;
  double step = 1;
};

// A scale that reaches `sigma`.
Scaling choose_scale(double unit_sigma, double sigma, const LayerInput& input,
                     const OfmapTarget& target, Random& random) {
  Scaling scaling;
  scaling.amplitude = target.per_channel_shift
                          ? static_cast<int>(random.uniform(kMaxBalanced / 2, kMaxBalanced))
                          : kMaxBalanced;
  const double psums = unit_sigma * kUniformByteRms * scaling.amplitude / kFullAmplitude;
  const float x_scale = input.scale.value().real();
  const float y_scale = target.output.scale.value().real();
  const auto w_scale = static_cast<float>(sigma / psums * y_scale / x_scale);
  scaling.step = 1 / static_cast<double>((x_scale * w_scale) / y_scale);
  return scaling;
}

// `unit_sigma` is sigma_acc for weights of mean square 1.
Scaling choose_scaling(double unit_sigma, double sigma, const OfmapTarget& target, Random& random) {
  // What sigma_acc / sigma would be at full amplitude: the shift must undo it.
  const double full = std::max(unit_sigma * kUniformByteRms / sigma, 1e-3);
  const int smaller = target.per_channel_shift ? static_cast<int>(random.uniform(0, 2)) : 0;
  Scaling scaling;
  if (target.full_range_weights) {
    scaling.shift = static_cast<int>(std::ceil(std::log2(full))) + smaller / 2;
  } else {
    const double balanced = full * kMaxBalanced / kFullAmplitude;
    scaling.shift = static_cast<int>(std::floor(std::log2(balanced))) - smaller;
  }
  scaling.shift = target.shift.value_or(std::clamp(scaling.shift, 0, kMaxShift));
  if (!target.full_range_weights) {
    const long amplitude = std::lround(kFullAmplitude * std::exp2(scaling.shift) / full);
    scaling.amplitude = static_cast<int>(std::clamp<long>(amplitude, 2, kMaxBalanced));
  }
  scaling.step = std::exp2(scaling.shift);
  return scaling;
}

// A mean that was asked for is reached or refused.
void require_bias(double bias, double bias_mean, int shift) {
  if (std::abs(bias) <= kMaxBias) return;
  throw_bad_input("bias_mean " + number_text(bias_mean, "%g") + " with the shift " +
                  std::to_string(shift) + " needs a bias of " + number_text(bias, "%g") +
                  "; at most 2^30 is allowed");
}

// sigma_acc for weights of mean square 1.
double unit_sigma_of(const LayerInput& input, double m, std::size_t depth, bool balanced) {
  // Where the weights add up to zero, those outside balance those inside.
  const double outside = (1 - input.inside) * (balanced ? input.inside : 1);
  const double per_tap = input.inside * variance(input.values) + outside * m * m;
  return std::sqrt(static_cast<double>(depth) * std::max(per_tap, 1.0));
}

void add_rule(const OfmapTarget& target, const Scaling& scaling, Requantization& requantization) {
  if (!target.scale_rounding) {
    requantization.shifts.push_back(static_cast<std::uint8_t>(scaling.shift));
    return;
  }
  const auto scale = Scale::of(static_cast<float>(1 / scaling.step));
  requantization.requantizers.push_back(requantizer_of(scale.value(), *target.scale_rounding));
}

// The parameters of one layer.
class ParameterDraw {
 public:
  ParameterDraw(const Shape& shape, const LayerInput& input, const OfmapTarget& target,
                Random& random)
      : shape_(shape),
        input_(input),
        target_(target),
        random_(random),
        channels_(static_cast<std::size_t>(shape[0])),
        depth_(static_cast<std::size_t>(element_count(shape)) / channels_),
        input_mean_(mean(input.values) - input.zero_point),
        balanced_(target.balanced_weights && !target.full_range_weights),
        unit_sigma_(unit_sigma_of(input, input_mean_, depth_, balanced_)),
        spread_(wanted_spread(target)) {}

  LayerParameters run(Tensors tensors) {
    const Random begin = random_;
    LayerParameters made = with_rule();
    if (tensors == Tensors::kDrawn) {
      draw(made);
      return made;
    }
    made.weights = shape_alone(DType::kInt8, shape_);
    made.bias = shape_alone(DType::kInt32, {shape_[0]});
    skip_draws(made);
    if (!bias_may_be_refused_) return made;
    random_ = begin;  // what only the weights' sums decide
    LayerParameters drawn = with_rule();
    draw(drawn);
    return made;
  }

 private:
  LayerParameters with_rule() const {
    LayerParameters made;
    made.requantization.rounding = target_.rounding;
    made.requantization.lo = target_.output.min();
    made.requantization.hi = target_.output.max();
    return made;
  }

  void draw(LayerParameters& made) {
    made.weights = Tensor(DType::kInt8, shape_);
    made.bias = Tensor(DType::kInt32, {shape_[0]});
    fill_bytes(made.weights.bytes, random_);
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const Scaling scaling = next_scaling(channel, made);
      const auto weights = made.weights.as<std::int8_t>().subspan(channel * depth_, depth_);
      if (!target_.full_range_weights) {
        scale_weights(weights, scaling.amplitude);
        if (balanced_) balance_weights(weights);
      }
      const double bias = wanted_psum(scaling) - input_mean_ * static_cast<double>(sum_of(weights));
      if (target_.bias_mean) require_bias(bias, *target_.bias_mean, scaling.shift);
      made.bias.as<std::int32_t>()[channel] =
          static_cast<std::int32_t>(std::clamp(std::round(bias), -kMaxBias, kMaxBias));
    }
    finish(made);
  }

  // The same rule and ofmap. The draws of the weights are left out, those of the channels are not.
  void skip_draws(LayerParameters& made) {
    random_.skip(static_cast<std::uint64_t>(ceil_div(element_count(shape_), 8)));
    const double most_sum = 128.0 * static_cast<double>(depth_);
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const Scaling scaling = next_scaling(channel, made);
      const double most_bias = std::abs(wanted_psum(scaling)) + std::abs(input_mean_) * most_sum;
      bias_may_be_refused_ |= target_.bias_mean && !(most_bias <= kMaxBias);
    }
    finish(made);
  }

  Scaling next_scaling(std::size_t channel, LayerParameters& made) {
    const Scaling scaling = target_.scale_rounding
                                ? choose_scale(unit_sigma_, spread_.sigma, input_, target_, random_)
                                : choose_scaling(unit_sigma_, spread_.sigma, target_, random_);
    sigma_ = unit_sigma_ * kUniformByteRms * scaling.amplitude / kFullAmplitude / scaling.step;
    if (channel == 0 || target_.per_channel_shift) add_rule(target_, scaling, made.requantization);
    return scaling;
  }

  // Biases differ a little between channels, so that none is taken for another's.
  double wanted_psum(const Scaling& scaling) {
    const double jitter = static_cast<double>(random_.uniform(-100, 100)) / 800;
    const double steps = spread_.mean + (spread_.mean_sigmas + jitter) * sigma_;
    return steps * scaling.step;
  }

  void finish(LayerParameters& made) const {
    made.ofmap =
        normal(target_.output,
               target_.output.zero_point + spread_.mean + spread_.mean_sigmas * sigma_, sigma_);
  }

  const Shape& shape_;
  const LayerInput& input_;
  const OfmapTarget& target_;
  Random& random_;
  std::size_t channels_;
  std::size_t depth_;
  double input_mean_;  // less the zero_point
  bool balanced_;
  double unit_sigma_;
  Spread spread_;
  double sigma_ = 1;  // of the last channel
  bool bias_may_be_refused_ = false;
};

}  // namespace

void check_synthetic_elems(std::int64_t count, const char* what) {
  if (count <= kMaxTensorElems) return;
  throw_bad_input(std::to_string(count) + " " + what + "; at most " +
                  std::to_string(kMaxTensorElems) + " are allowed");
}

Tensor synthetic_input(const Value& value, Random& random) {
  check_synthetic_elems(element_count(value.shape.nhwc()), "input elements");
  Tensor tensor(value.dtype, value.shape.nhwc());
  std::vector<std::byte> second(tensor.bytes.size());
  fill_bytes(tensor.bytes, random);
  fill_bytes(second, random);
  const int min = value.min();
  for (std::size_t i = 0; i < second.size(); ++i) {
    const int sum = std::to_integer<int>(tensor.bytes[i]) + std::to_integer<int>(second[i]);
    tensor.bytes[i] = static_cast<std::byte>((sum / 2 + min) & 0xff);
  }
  return tensor;
}

LayerParameters synthetic_parameters(const Shape& shape, const LayerInput& input,
                                     const OfmapTarget& target, Random& random, Tensors tensors) {
  check_synthetic_elems(element_count(shape), "weights");
  return ParameterDraw(shape, input, target, random).run(tensors);
}

double inside_fraction(const Window& window, const ImageShape& input, const ImageShape& output) {
  const auto axis = [](std::int64_t count, std::int64_t kernel, std::int64_t stride,
                       std::int64_t pad, std::int64_t dilation, std::int64_t size) {
    std::int64_t inside = 0;
    for (std::int64_t position = 0; position < count; ++position) {
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t at = position * stride - pad + k * dilation;
        inside += at >= 0 && at < size ? 1 : 0;
      }
    }
    return static_cast<double>(inside) / static_cast<double>(count * kernel);
  };
  const Window& w = window;
  return axis(output.height, w.kernel_h, w.stride_h, w.pad_top, w.dilation_h, input.height) *
         axis(output.width, w.kernel_w, w.stride_w, w.pad_left, w.dilation_w, input.width);
}

}  // namespace qsim::formats
