#include "core/network/layer_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qsim {
namespace {

// Positions of [begin, end) under the window that starts at `first`.
std::int64_t positions(std::int64_t first, std::int64_t kernel, std::int64_t begin,
                       std::int64_t end) {
  return std::max<std::int64_t>(0, std::min(first + kernel, end) - std::max(first, begin));
}

LevelScale level_scale(const Value& value) { return {value.scale.value(), value.zero_point}; }

}  // namespace

std::optional<Requantizer> product_requantizer(double product, float y_scale,
                                               RequantizerRounding rounding) {
  const auto scale = Scale::of(static_cast<float>(product) / y_scale);
  if (!scale || is_tflite(rounding)) return std::nullopt;
  return requantizer_of(*scale, rounding);
}

std::optional<std::int32_t> bias_level(float bias, double product) {
  const auto divisor = static_cast<double>(static_cast<float>(product));
  const double level = std::nearbyint(static_cast<double>(bias) / divisor);
  if (!(std::abs(level) <= std::numeric_limits<std::int32_t>::max())) return std::nullopt;
  return static_cast<std::int32_t>(level);
}

std::optional<Requantizer> average_requantizer(const AveragePool& pool, const Value& input,
                                               const Value& output, std::int64_t count) {
  if (!input.scale || !output.scale) return std::nullopt;
  const float divisor = output.scale->real() * static_cast<float>(count);
  const auto scale = Scale::of(input.scale->real() / divisor);
  return scale ? std::optional(requantizer_of(*scale, pool.rounding)) : std::nullopt;
}

std::int64_t average_rows(const AveragePool& pool, const ImageShape& input, std::int64_t oy) {
  const Window& w = pool.window;
  const bool pads = pool.count_include_pad;
  return positions(oy * w.stride_h - w.pad_top, w.kernel_h, pads ? -w.pad_top : 0,
                   input.height + (pads ? w.pad_bottom : 0));
}

std::int64_t average_cols(const AveragePool& pool, const ImageShape& input, std::int64_t ox) {
  const Window& w = pool.window;
  const bool pads = pool.count_include_pad;
  return positions(ox * w.stride_w - w.pad_left, w.kernel_w, pads ? -w.pad_left : 0,
                   input.width + (pads ? w.pad_right : 0));
}

std::int64_t average_count(const AveragePool& pool, const ImageShape& input, std::int64_t oy,
                           std::int64_t ox) {
  return average_rows(pool, input, oy) * average_cols(pool, input, ox);
}

std::optional<Adder> adder_of(const Add& add, const Value& a, const Value& b, const Value& output) {
  if (!a.scale || !b.scale || !output.scale) return std::nullopt;
  return adder_of(level_scale(a), level_scale(b), level_scale(output), add.rounding);
}

TfliteAdder tflite_adder_of(const Add& add, const Value& a, const Value& b, const Value& output) {
  return tflite_adder_of(level_scale(a), level_scale(b), level_scale(output), add.rounding);
}

}  // namespace qsim
