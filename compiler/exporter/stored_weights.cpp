#include "compiler/exporter/stored_weights.h"

#include <algorithm>

#include "core/error.h"
#include "core/requantizer.h"

namespace qsim {
namespace {

[[noreturn]] void refuse(const Layer& layer, const std::string& found, const std::string& allowed) {
  throw_unsupported(layer_place(layer.name, layer.source) + ": " + found +
                    "; supported: " + allowed);
}

void check_counts(const Layer& layer, const WeightScales& own, std::int64_t channels,
                  const Requantization& requantization) {
  const std::size_t count = own.scales.size();
  const std::size_t zero_points = own.zero_points.size();
  const bool fits = count == 1 || count == static_cast<std::size_t>(channels);
  if (!fits || (zero_points > 1 && zero_points != count)) {
    refuse(layer,
           std::to_string(count) + " scales and " + std::to_string(zero_points) +
               " zero_points of its weights",
           "1 or " + std::to_string(channels) + ", one a output channel");
  }
  const std::size_t needed = requantization.is_dyadic() ? requantization.requantizers.size()
                                                        : requantization.shifts.size();
  if (needed == count) return;
  refuse(layer, std::to_string(needed) + " requantizers for " + std::to_string(count) + " scales",
         "as many");
}

// What the importer makes of the product of scales: (x_scale * w_scale) / y_scale in float32.
bool gives(const Requantization& requantization, std::size_t channel, float product,
           float y_scale) {
  const auto scale = Scale::of(product / y_scale);
  if (!scale) return false;
  const Requantizer own = requantizer_of(*scale, RequantizerRounding::kFloat32);
  if (requantization.is_dyadic()) return requantization.requantizers[channel] == own;
  return requantization.rounding == RoundingMode::kHalfEven &&
         requantizer_of_shift(requantization.shifts[channel], RequantizerRounding::kFloat32) == own;
}

// [M][kh][kw][C] to [M][C][kh][kw], or [M][K] as it is, with the zero_points, which are of uint8;
// in int8 levels and zero_points are 128 lower.
template <typename T>
void store(const Layer& layer, const Tensor& weights, const std::vector<std::int32_t>& zero_points,
           WeightsForFile& result) {
  const std::span<const T> numbers = weights.as<T>();
  const std::int64_t channels = weights.shape[0];
  const std::int64_t inner = weights.shape.back();
  const std::int64_t taps = weights.elems() / std::max<std::int64_t>(channels * inner, 1);
  const std::int32_t lo = zero_points.empty() ? -128 : 0;
  const std::int32_t moved = !zero_points.empty() && result.dtype == DType::kInt8 ? -128 : 0;
  char* to = result.bytes.data();
  for (std::int64_t m = 0; m < channels; ++m) {
    const std::size_t of_channel = zero_points.size() == 1 ? 0 : static_cast<std::size_t>(m);
    const std::int32_t zero_point = zero_points.empty() ? 0 : zero_points[of_channel];
    for (std::int64_t c = 0; c < inner; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto from = static_cast<std::size_t>((m * taps + tap) * inner + c);
        const std::int32_t level = numbers[from] + zero_point;
        if (level < lo || level > lo + 255) {
          refuse(layer,
                 "weight " + std::to_string(numbers[from]) + " of output channel " +
                     std::to_string(m) + " with zero_point " + std::to_string(zero_point),
                 std::to_string(lo) + " to " + std::to_string(lo + 255) + " together");
        }
        *to++ = static_cast<char>(level + moved);
      }
    }
  }
}

}  // namespace

WeightsForFile stored_weights(const QuantizedNetwork& network, std::size_t index,
                              const Tensor& weights, const Requantization& requantization) {
  const Layer& layer = network.graph.layers[index];
  const WeightScales& own = network.weights[index];
  const Shape& s = weights.shape;
  check_counts(layer, own, s[0], requantization);
  WeightsForFile result;
  // ONNX Runtime has no operator of int8 data and uint8 weights.
  const bool is_uint8 = !own.zero_points.empty() && network.graph.input_of(index).is_unsigned();
  result.dtype = is_uint8 ? DType::kUint8 : DType::kInt8;
  result.shape = s.size() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s;
  result.scales = own.scales;
  const float x_scale = network.graph.input_of(index).scale->real();
  const float y_scale = network.graph.output_of(index).scale->real();
  for (std::size_t i = 0; i < own.scales.size(); ++i) {
    result.bias_scales.push_back(x_scale * own.scales[i]);
    if (gives(requantization, i, result.bias_scales[i], y_scale)) continue;
    refuse(layer, "output channel " + std::to_string(i) + " is not requantized",
           "(x_scale * w_scale) / y_scale in float32, rounded as float32");
  }
  if (own.scales.size() > 1) result.scale_shape = {std::ssize(own.scales)};
  for (std::size_t i = 0; i < own.scales.size(); ++i) {
    const std::size_t of_channel = own.zero_points.size() == 1 ? 0 : i;
    const std::int32_t zero_point = own.zero_points.empty() ? 0 : own.zero_points[of_channel];
    if (zero_point < 0 || zero_point > 255) {
      refuse(layer, "zero_point " + std::to_string(zero_point) + " of its weights", "0 to 255");
    }
    const std::int32_t stored = own.zero_points.empty() || is_uint8 ? zero_point : zero_point - 128;
    result.zero_points.push_back(static_cast<char>(stored));
  }
  result.bytes.resize(static_cast<std::size_t>(weights.elems()));
  if (weights.dtype == DType::kInt16) {
    store<std::int16_t>(layer, weights, own.zero_points, result);
  } else {
    store<std::int8_t>(layer, weights, own.zero_points, result);
  }
  return result;
}

}  // namespace qsim
