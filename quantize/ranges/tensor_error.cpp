#include "quantize/ranges/tensor_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

constexpr std::size_t kErrorBlock = 1024;
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

double total(const Lanes& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// The sums of a block whose values are finite. Lane l has the values l, l + 8, ...: vectors of any
// width give the same bits.
struct BlockSums {
  Lanes real = {};
  Lanes quantized = {};
  Lanes real_squares = {};
  Lanes quantized_squares = {};
  Lanes products = {};
  Lanes squared_errors = {};
  Lanes largest = {};

  void add(std::size_t lane, float real_value, float quantized_value) {
    const double x = real_value;
    const double y = quantized_value;
    const double distance = x - y;
    real[lane] += x;
    quantized[lane] += y;
    real_squares[lane] += x * x;
    quantized_squares[lane] += y * y;
    products[lane] += x * y;
    squared_errors[lane] += distance * distance;
    const double magnitude = std::fabs(distance);
    largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
  }

  void add_to(TensorError& error) const {
    error.sum_real += total(real);
    error.sum_quantized += total(quantized);
    error.sum_real_squares += total(real_squares);
    error.sum_quantized_squares += total(quantized_squares);
    error.sum_products += total(products);
    error.sum_squared_errors += total(squared_errors);
    error.largest_error =
        std::max(error.largest_error, *std::max_element(largest.begin(), largest.end()));
  }
};

bool are_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

void add_block(std::span<const float> real, std::span<const float> quantized, TensorError& error) {
  BlockSums sums;
  std::int64_t count = 0;
  if (are_finite(real) && are_finite(quantized)) {
    std::size_t at = 0;
    for (; at + kLanes <= real.size(); at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums.add(lane, real[at + lane], quantized[at + lane]);
      }
    }
    for (; at < real.size(); ++at) sums.add(at % kLanes, real[at], quantized[at]);
    count = static_cast<std::int64_t>(real.size());
  } else {
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (!std::isfinite(real[i]) || !std::isfinite(quantized[i])) continue;
      sums.add(i % kLanes, real[i], quantized[i]);
      ++count;
    }
  }
  sums.add_to(error);
  error.count += count;
  error.not_finite += static_cast<std::int64_t>(real.size()) - count;
}

// Values that the levels do not reach: what is not finite is not among them.
std::int64_t count_clipped(std::span<const float> real, const Quantization& quantization) {
  const double scale = quantization.scale;
  const double lo = (quantization.lo - quantization.zero_point - 0.5) * scale;
  const double hi = (quantization.hi - quantization.zero_point + 0.5) * scale;
  std::int64_t clipped = 0;
  for (const float value : real) {
    if (std::isfinite(value) && (value < lo || value > hi)) ++clipped;
  }
  return clipped;
}

template <typename Level>
void add(std::span<const float> real, std::span<const Level> levels,
         const Quantization& quantization, TensorError& error) {
  QSIM_CHECK(real.size() == levels.size(), "tensors of different lengths");
  error.levels = quantization.hi - quantization.lo + 1;
  std::array<float, kErrorBlock> quantized;
  for (std::size_t at = 0; at < real.size(); at += kErrorBlock) {
    const std::size_t length = std::min(kErrorBlock, real.size() - at);
    for (std::size_t i = 0; i < length; ++i) {
      const std::int32_t level = levels[at + i];
      QSIM_CHECK(level >= quantization.lo && level <= quantization.hi,
                 "an integer that is no level");
      error.used.set(static_cast<std::size_t>(level - quantization.lo));
      quantized[i] = static_cast<float>(level - quantization.zero_point) * quantization.scale;
    }
    const std::span<const float> block = real.subspan(at, length);
    add_block(block, {quantized.data(), length}, error);
    error.clipped += count_clipped(block, quantization);
  }
}

}  // namespace

void add_pairs(std::span<const float> real, std::span<const float> quantized, TensorError& error) {
  QSIM_CHECK(real.size() == quantized.size(), "tensors of different lengths");
  for (std::size_t at = 0; at < real.size(); at += kErrorBlock) {
    const std::size_t length = std::min(kErrorBlock, real.size() - at);
    add_block(real.subspan(at, length), quantized.subspan(at, length), error);
  }
}

void add_levels(std::span<const float> real, std::span<const std::uint8_t> levels,
                const Quantization& quantization, TensorError& error) {
  add(real, levels, quantization, error);
}

void add_levels(std::span<const float> real, std::span<const std::int8_t> levels,
                const Quantization& quantization, TensorError& error) {
  add(real, levels, quantization, error);
}

void merge(const TensorError& part, TensorError& whole) {
  whole.count += part.count;
  whole.not_finite += part.not_finite;
  whole.sum_real += part.sum_real;
  whole.sum_quantized += part.sum_quantized;
  whole.sum_real_squares += part.sum_real_squares;
  whole.sum_quantized_squares += part.sum_quantized_squares;
  whole.sum_products += part.sum_products;
  whole.sum_squared_errors += part.sum_squared_errors;
  whole.largest_error = std::max(whole.largest_error, part.largest_error);
  whole.clipped += part.clipped;
  whole.used |= part.used;
  whole.levels = std::max(whole.levels, part.levels);
}

double mean_squared_error(const TensorError& error) {
  return error.count == 0 ? 0 : error.sum_squared_errors / static_cast<double>(error.count);
}

double sqnr_db(const TensorError& error) {
  if (error.sum_squared_errors == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(error.sum_real_squares / error.sum_squared_errors);
}

double cosine_similarity(const TensorError& error) {
  const bool real_is_zero = error.sum_real_squares == 0;
  const bool quantized_is_zero = error.sum_quantized_squares == 0;
  if (real_is_zero || quantized_is_zero) return real_is_zero && quantized_is_zero ? 1 : 0;
  const double norms = std::sqrt(error.sum_real_squares) * std::sqrt(error.sum_quantized_squares);
  return std::clamp(error.sum_products / norms, -1.0, 1.0);
}

double cosine_distance(const TensorError& error) { return 1 - cosine_similarity(error); }

double pearson_correlation(const TensorError& error) {
  const double count = static_cast<double>(std::max<std::int64_t>(error.count, 1));
  // Below this share of the squares, what is left of them is rounding: the tensor is constant.
  constexpr double kRounding = 1e-13;
  const auto spread = [&](double sum, double squares) {
    const double left = squares - sum * sum / count;
    return left > kRounding * squares ? left : 0;
  };
  const double of_real = spread(error.sum_real, error.sum_real_squares);
  const double of_quantized = spread(error.sum_quantized, error.sum_quantized_squares);
  if (of_real == 0 || of_quantized == 0) return of_real == of_quantized ? 1 : 0;
  const double together = error.sum_products - error.sum_real * error.sum_quantized / count;
  return std::clamp(together / (std::sqrt(of_real) * std::sqrt(of_quantized)), -1.0, 1.0);
}

double share_clipped(const TensorError& error) {
  return error.count == 0 ? 0
                          : static_cast<double>(error.clipped) / static_cast<double>(error.count);
}

double share_of_levels_used(const TensorError& error) {
  return error.levels == 0 ? 0 : static_cast<double>(error.used.count()) / error.levels;
}

}  // namespace qsim::quantize
