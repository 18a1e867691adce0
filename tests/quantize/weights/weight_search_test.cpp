// Weights by least squared error, beside loops that try everything; extreme values.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/graph/real/real_rules.h"
#include "quantize/weights/channel_scale.h"
#include "quantize/weights/log2_weights.h"
#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {
namespace {

const Clipping kByMse = {.rule = ClippingRule::kMse};

// Bell-shaped, a channel wider than the one before it, and in each one weight far out.
Tensor random_weights(std::int64_t channels, std::int64_t of_channel, std::uint64_t seed) {
  Random random(seed);
  Tensor weights(DType::kFloat32, {channels, of_channel});
  const std::span<float> values = weights.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t sum = 0;
    for (int j = 0; j < 4; ++j) sum += random.uniform(-100000, 110000);
    const std::int64_t channel = static_cast<std::int64_t>(i) / of_channel;
    values[i] = static_cast<float>(sum) * 1e-6F * static_cast<float>(channel + 1);
    if (static_cast<std::int64_t>(i) % of_channel == 5) values[i] *= 4;
  }
  return weights;
}

// Mean of the squared differences of two tensors, a channel.
std::vector<double> errors_of(const Tensor& weights, const QuantizedWeights& quantized) {
  const Tensor real = dequantize(quantized);
  const auto channels = static_cast<std::size_t>(weights.shape[0]);
  const std::size_t of_channel = weights.as<float>().size() / channels;
  std::vector<double> errors(channels);
  for (std::size_t i = 0; i < channels * of_channel; ++i) {
    const double distance = static_cast<double>(weights.as<float>()[i]) - real.as<float>()[i];
    errors[i / of_channel] += distance * distance / static_cast<double>(of_channel);
  }
  return errors;
}

double slow_error(std::span<const float> weights, const Quantization& q) {
  double sum = 0;
  for (const float weight : weights) {
    const double level = std::clamp<double>(
        std::nearbyint(static_cast<double>(weight) / q.scale) + q.zero_point, q.lo, q.hi);
    const double distance = weight - (level - q.zero_point) * q.scale;
    sum += distance * distance;
  }
  return sum / static_cast<double>(weights.size());
}

TEST(WeightSearch, TheErrorIsThatOfAPlainLoop) {
  const Tensor weights = random_weights(1, 3001, 1);
  const std::span<const float> values = weights.as<float>();
  for (const float scale : {0.5F, 0.01F, 0.003F}) {
    for (const std::int32_t zero_point : {0, 4, 15}) {
      const Quantization q{.scale = scale, .zero_point = zero_point, .lo = 0, .hi = 15};
      const double slow = slow_error(values, q);
      EXPECT_NEAR(mean_squared_error(values, q), slow, 1e-5 * slow);
    }
  }
}

// A thousandth of an octave apart, and every zero_point; powers of two: all.
double least_error(std::span<const float> weights, const WeightScheme& scheme) {
  const auto [lo, hi] = std::minmax_element(weights.begin(), weights.end());
  const Range range{*lo, *hi};
  const double covering = covering_scale(range, scheme.levels, scheme.symmetry);
  const bool is_power = scheme.kind == ScaleKind::kPowerOfTwo;
  double least = HUGE_VAL;
  for (int step = -600; step < (is_power ? 20000 : 4000); step += is_power ? 1000 : 5) {
    const double octaves = is_power ? std::floor(std::log2(covering)) + 3 : std::log2(covering);
    const int exponent = static_cast<int>(octaves) - (step + 600) / 1000;
    const float scale = is_power ? std::ldexp(1.0F, exponent)
                                 : static_cast<float>(std::exp2(octaves - step / 1000.0));
    Quantization q = quantization_at(scale, range, scheme.levels, scheme.symmetry);
    if (scheme.symmetry != Symmetry::kAffine) {
      least = std::min(least, slow_error(weights, q));
      continue;
    }
    for (q.zero_point = q.lo; q.zero_point <= q.hi; ++q.zero_point) {
      least = std::min(least, slow_error(weights, q));
    }
  }
  return least;
}

TEST(WeightSearch, FindsTheLeastSquaredErrorOfEachChannel) {
  const Tensor weights = random_weights(3, 200, 2);
  for (const int bits : {2, 3, 4}) {
    for (const bool affine : {false, true}) {
      for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
        const WeightScheme scheme{
            .levels = {.bits = bits, .is_unsigned = affine, .reduced = !affine},
            .symmetry = affine ? Symmetry::kAffine : Symmetry::kSymmetric,
            .kind = kind,
            .clipping = kByMse};
        const std::vector<double> errors =
            errors_of(weights, quantize_weights(weights, scheme, ""));
        for (std::size_t channel = 0; channel < 3; ++channel) {
          const double least = least_error(weights.as<float>().subspan(channel * 200, 200), scheme);
          // Powers of two: the same one. Others: few weights, so the error jumps as they change
          // level.
          const double allowed = kind == ScaleKind::kPowerOfTwo ? 1 + 1e-5 : 1.03;
          EXPECT_LE(errors[channel], allowed * least) << bits << affine << static_cast<int>(kind);
        }
      }
    }
  }
}

TEST(WeightSearch, ClippingHelpsFewBits) {
  const Tensor weights = random_weights(4, 500, 3);
  for (const int bits : {2, 3, 4}) {
    WeightScheme scheme{.levels = {.bits = bits, .is_unsigned = false, .reduced = true}};
    const std::vector<double> whole = errors_of(weights, quantize_weights(weights, scheme, ""));
    scheme.clipping = kByMse;
    const std::vector<double> searched = errors_of(weights, quantize_weights(weights, scheme, ""));
    for (std::size_t channel = 0; channel < 4; ++channel) {
      EXPECT_LT(searched[channel], 0.8 * whole[channel]);
    }
  }
}

TEST(WeightSearch, OneBitHasTheLeastSquaredErrorOfItsKind) {
  const Tensor weights = random_weights(3, 200, 4);
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
    const WeightScheme scheme{.levels = {.bits = 1, .is_unsigned = false}, .kind = kind};
    QuantizedWeights quantized = quantize_weights(weights, scheme, "");
    const std::vector<double> errors = errors_of(weights, quantized);
    for (const float factor : {0.5F, 2.0F, 0.99F, 1.01F}) {
      if (kind == ScaleKind::kPowerOfTwo && factor != 0.5F && factor != 2.0F) continue;
      QuantizedWeights other = quantized;
      for (float& scale : other.scales) scale *= factor;
      const std::vector<double> others = errors_of(weights, other);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        EXPECT_GT(others[channel], errors[channel]);
      }
    }
  }
}

// The definition, with a logarithm.
int slow_log2_level(float weight, float scale, int most) {
  const double ratio = std::fabs(weight) / scale;
  if (ratio < std::exp2(-0.5)) return 0;
  const int level = 1 << std::min(static_cast<int>(std::floor(std::log2(ratio) + 0.5)), most);
  return weight < 0 ? -level : level;
}

TEST(WeightSearch, Log2LevelsAreThoseOfTheLogarithm) {
  const Tensor weights = random_weights(2, 2000, 5);
  for (const float weight : weights.as<float>()) {
    EXPECT_EQ(log2_level(weight, 0.0131F, 6), slow_log2_level(weight, 0.0131F, 6)) << weight;
  }
  EXPECT_EQ(log2_level(std::numeric_limits<float>::max(), 0x1p-126F, 14), 1 << 14);
  EXPECT_EQ(log2_level(0x1p-149F, 1, 14), 0);
}

// Weights at both sides of every threshold, and random ones.
TEST(WeightSearch, Log2LevelsAreThoseOfFakeQuantization) {
  for (const float scale : {1.0F, 0.0131F, 0x1p-120F}) {
    const Tensor random = random_weights(1, 2000, 7);
    std::vector<float> values(random.as<float>().begin(), random.as<float>().end());
    for (int exponent = -3; exponent < 20; ++exponent) {
      float value = static_cast<float>(std::exp2(exponent + 0.5)) * scale;
      for (int i = 0; i < 4; ++i) value = std::nextafter(value, 0.0F);
      for (int i = 0; i < 8; ++i) values.push_back(value = std::nextafter(value, HUGE_VALF));
    }
    const auto count = static_cast<std::int64_t>(values.size());
    Tensor faked = make_tensor<float>({1, count}, values);
    golden::apply(golden::Log2Rule{.scale = scale, .lo = 0, .hi = 6}, faked);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(static_cast<float>(log2_level(values[i], scale, 6)) * scale, faked.as<float>()[i])
          << values[i];
    }
  }
}

TEST(WeightSearch, Log2ScalesHaveTheLeastSquaredError) {
  const Tensor weights = random_weights(3, 300, 6);
  for (const int bits : {2, 3, 4, 5}) {
    for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
      WeightScheme scheme{.levels = {.bits = bits, .is_unsigned = false},
                          .kind = kind,
                          .clipping = kByMse,
                          .log2 = true};
      const QuantizedWeights quantized = quantize_weights(weights, scheme, "");
      const std::vector<double> errors = errors_of(weights, quantized);
      scheme.clipping = {};
      const std::vector<double> by_max = errors_of(weights, quantize_weights(weights, scheme, ""));
      const int most = (1 << (bits - 1)) - 2;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        EXPECT_LE(errors[channel], by_max[channel]);
        double least = HUGE_VAL;
        const bool is_power = kind == ScaleKind::kPowerOfTwo;
        for (int step = -3000; step <= 3000; step += is_power ? 1000 : 2) {
          const float scale =
              quantized.scales[channel] * std::exp2(static_cast<float>(step) / 1000);
          double sum = 0;
          for (const float weight : weights.as<float>().subspan(channel * 300, 300)) {
            const double distance =
                weight - static_cast<double>(scale) * slow_log2_level(weight, scale, most);
            sum += distance * distance / 300;
          }
          least = std::min(least, sum);
        }
        EXPECT_LE(errors[channel], (is_power ? 1 + 1e-5 : 1.03) * least) << bits;
      }
    }
  }
}

TEST(WeightSearch, ExtremeWeightsHaveScales) {
  const float largest = std::numeric_limits<float>::max();
  for (const float unit : {0x1p-149F, 0x1p-130F, 0x1p-100F, largest / 128}) {
    std::vector<float> values;
    for (int i = -100; i <= 127; ++i) values.push_back(static_cast<float>(i) * unit);
    const Tensor weights = make_tensor<float>({1, 228}, values);
    for (const bool log2 : {false, true}) {
      for (const Clipping& clipping : {Clipping{}, kByMse}) {
        for (const ScaleKind kind :
             {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
          const QuantizedWeights q = quantize_weights(weights,
                                                      {.levels = {.bits = 4, .is_unsigned = false},
                                                       .kind = kind,
                                                       .clipping = clipping,
                                                       .log2 = log2},
                                                      "");
          EXPECT_TRUE(std::isnormal(q.scales[0])) << unit;
          EXPECT_TRUE(fits_int8(q));
          if (unit >= 0x1p-100F) {
            EXPECT_GT(q.levels.as<std::int16_t>()[227], 3) << unit;
            EXPECT_LT(q.levels.as<std::int16_t>()[0], -2) << unit;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace qsim::quantize
