#include "golden/kernels/linear/quantizer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/common/float_environment.h"

namespace qsim::golden {
namespace {

void check_floats(std::span<const float> weights, std::int64_t in_features) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (is_finite(bits_of(weights[i]))) continue;
    const auto at = static_cast<std::int64_t>(i);
    throw_bad_input("linear: weight[" + std::to_string(at / in_features) + ", " +
                    std::to_string(at % in_features) +
                    "] is infinite or not a number; only finite weights can be quantized");
  }
}

// All but the values, which are zero.
LinearWeights sized(std::span<const float> floats, std::int64_t out_features,
                    std::int64_t in_features, std::int64_t group_size, int bits) {
  LinearWeights weights;
  weights.out_features = out_features;
  weights.in_features = in_features;
  weights.group_size = group_size;
  weights.bits = bits;
  weights.values.resize(floats.size());
  if (out_features > 0 && in_features > 0 && group_size >= 0) {
    const auto scales = static_cast<std::size_t>(checked_mul(out_features, weights.groups()));
    weights.scales.resize(scales, 1);
    if (bits == 4) weights.zero_points.resize(scales, 8);
  }
  check_weights(weights);
  check_floats(floats, in_features);
  return weights;
}

// to nearest, ties to even, within lo..hi
int rounded_quotient(float dividend, float divisor, float lo, float hi) {
  return static_cast<int>(std::clamp(std::nearbyint(dividend / divisor), lo, hi));
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Where the values of scale `index` are.
struct GroupSpan {
  std::size_t first;
  std::size_t count;
};

GroupSpan group_span(const LinearWeights& weights, std::size_t index) {
  const auto columns = static_cast<std::size_t>(weights.in_features);
  const auto groups = static_cast<std::size_t>(weights.groups());
  const auto elems = static_cast<std::size_t>(weights.group_elems());
  const std::size_t begin = index % groups * elems;
  return {index / groups * columns + begin, std::min(elems, columns - begin)};
}

struct Int4Group {
  float scale = 1;
  int zero_point = 8;
  float least = 1;  // of the values
};

Int4Group int4_group(std::span<const float> values, bool symmetric) {
  Int4Group group;
  if (symmetric) {
    group.scale = largest_magnitude(values) / 7;
  } else {
    const float low = std::min(0.0F, *std::min_element(values.begin(), values.end()));
    const float high = std::max(0.0F, *std::max_element(values.begin(), values.end()));
    // Halves, so that the difference of the largest numbers is not infinite.
    group.scale = (high / 2 - low / 2) / 7.5F;
    group.least = 0;
    if (group.scale > 0) group.zero_point = rounded_quotient(-low, group.scale, 0, 15);
  }
  return group;
}

}  // namespace

LinearWeights quantize_per_channel(std::span<const float> weights, std::int64_t out_features,
                                   std::int64_t in_features, std::int64_t group_size) {
  LinearWeights result = sized(weights, out_features, in_features, group_size, 8);
  const FloatEnvironment environment;
  for (std::size_t i = 0; i < result.scales.size(); ++i) {
    const GroupSpan place = group_span(result, i);
    const float scale = largest_magnitude(weights.subspan(place.first, place.count)) / 127;
    if (scale == 0) continue;
    result.scales[i] = scale;
    for (std::size_t k = place.first; k < place.first + place.count; ++k) {
      result.values[k] = static_cast<std::int8_t>(rounded_quotient(weights[k], scale, -127, 127));
    }
  }
  return result;
}

LinearWeights quantize_to_int4(std::span<const float> weights, std::int64_t out_features,
                               std::int64_t in_features, std::int64_t group_size, bool symmetric) {
  LinearWeights result = sized(weights, out_features, in_features, group_size, 4);
  const FloatEnvironment environment;
  for (std::size_t i = 0; i < result.scales.size(); ++i) {
    const auto [first, count] = group_span(result, i);
    const Int4Group group = int4_group(weights.subspan(first, count), symmetric);
    const bool is_zero = group.scale == 0;
    if (!is_zero) result.scales[i] = group.scale;
    result.zero_points[i] = static_cast<std::uint8_t>(group.zero_point);
    const auto zero_point = static_cast<float>(group.zero_point);
    for (std::size_t k = first; k < first + count; ++k) {
      const int level = is_zero ? 0
                                : rounded_quotient(weights[k], group.scale,
                                                   group.least - zero_point, 15 - zero_point);
      result.values[k] = static_cast<std::int8_t>(level + group.zero_point);
    }
  }
  return result;
}

std::vector<std::int8_t> transposed(std::span<const std::int8_t> values, std::int64_t in_features,
                                    std::int64_t out_features) {
  const auto rows = static_cast<std::size_t>(in_features);
  const auto columns = static_cast<std::size_t>(out_features);
  QSIM_CHECK(values.size() == rows * columns, "the values do not fill [K, N]");
  constexpr std::size_t kBlock = 64;  // a block of both sides stays in the first cache
  std::vector<std::int8_t> result(values.size());
  for (std::size_t row = 0; row < rows; row += kBlock) {
    for (std::size_t column = 0; column < columns; column += kBlock) {
      for (std::size_t n = column; n < std::min(columns, column + kBlock); ++n) {
        for (std::size_t k = row; k < std::min(rows, row + kBlock); ++k) {
          result[n * rows + k] = values[k * columns + n];
        }
      }
    }
  }
  return result;
}

}  // namespace qsim::golden
