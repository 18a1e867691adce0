#include "golden/graph/real/layer_weights.h"

#include <cmath>
#include <cstdlib>

#include "golden/graph/real/integer_layer.h"
#include "golden/graph/real/real_rules.h"

namespace qsim::golden {
namespace {

// The largest sum of an integer layer is below 2^62 = 2^8 * 2^30 * 2^24.
constexpr std::int64_t kMostDepth = std::int64_t{1} << 24;
constexpr std::int64_t kMostFromZeroPoint = 255;

[[noreturn]] void fail(const std::string& place, const std::string& message) {
  throw_bad_input(place + ": integer weights: " + message);
}

void check_scales(const std::string& place, const std::vector<float>& scales,
                  std::int64_t channels) {
  if (scales.size() != 1 && std::ssize(scales) != channels) {
    fail(place,
         std::to_string(scales.size()) + " scales; expected 1 or " + std::to_string(channels));
  }
  for (const float scale : scales) {
    if (std::isfinite(scale) && scale > 0) continue;
    fail(place, "a scale is " + std::to_string(scale) + "; expected finite numbers above 0");
  }
}

void check_tensor(const std::string& place, const Tensor& tensor, std::string_view what,
                  bool may_be_int16, const Shape& shape) {
  const bool fits = tensor.dtype == DType::kInt8 || (may_be_int16 && tensor.dtype == DType::kInt16);
  if (fits && tensor.shape == shape) return;
  fail(place, std::string(what) + " are " + std::string(dtype_name(tensor.dtype)) + " " +
                  shape_text(tensor.shape) + "; expected int8 " +
                  (may_be_int16 ? "or int16 " : "") + shape_text(shape));
}

void check_weights(const std::string& place, const IntegerWeights& weights, const Shape& shape) {
  check_tensor(place, weights.levels, "levels", true, shape);
  check_scales(place, weights.scales, shape[0]);
  const std::size_t zeros = weights.zero_points.size();
  if (zeros > 1 && static_cast<std::int64_t>(zeros) != shape[0]) {
    fail(place,
         std::to_string(zeros) + " zero_points; expected none, 1 or " + std::to_string(shape[0]));
  }
  const std::int64_t depth = element_count(shape) / shape[0];
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::int64_t weight = integer_weight(weights, i, i / depth);
    if (std::abs(weight) <= kMostIntegerWeight) continue;
    fail(place, "level " + std::to_string(i) + " is " + std::to_string(weight) +
                    " from the zero_point; at most 255 are allowed");
  }
}

void check_weights(const std::string& place, const Log2Weights& weights, const Shape& shape) {
  check_tensor(place, weights.signs, "signs", false, shape);
  check_tensor(place, weights.exponents, "exponents", false, shape);
  check_scales(place, weights.scales, shape[0]);
  if (weights.lo < -126 || weights.hi > 127 || weights.lo > weights.hi ||
      weights.hi - weights.lo > kMostExponents) {
    fail(place, "exponents " + std::to_string(weights.lo) + ".." + std::to_string(weights.hi) +
                    "; expected lo at most hi, both in -126..127, at most " +
                    std::to_string(kMostExponents) + " apart");
  }
  for (std::size_t i = 0; i < weights.signs.bytes.size(); ++i) {
    const int sign = weights.signs.as<std::int8_t>()[i];
    const int exponent = weights.exponents.as<std::int8_t>()[i];
    const bool in_range = exponent >= weights.lo && exponent <= weights.hi;
    if (sign == 0 || ((sign == 1 || sign == -1) && in_range)) continue;
    fail(place, "weight " + std::to_string(i) + " has sign " + std::to_string(sign) +
                    " and exponent " + std::to_string(exponent) + "; expected -1, 0 or 1 and " +
                    std::to_string(weights.lo) + ".." + std::to_string(weights.hi));
  }
}

void check_input(const std::string& place, const InputRule& input) {
  std::visit([](const auto& rule) { check_rule(rule); }, input);
  const auto* rule = std::get_if<UniformRule>(&input);
  if (rule == nullptr) return;
  const std::int64_t zero = rule->zero_point;
  if (rule->lo - zero >= -kMostFromZeroPoint && rule->hi - zero <= kMostFromZeroPoint) return;
  fail(place, "the input's levels are " + std::to_string(rule->lo) + ".." +
                  std::to_string(rule->hi) + " around zero_point " +
                  std::to_string(rule->zero_point) + "; at most 255 from it are allowed");
}

}  // namespace

void check_layer_weights(const Layer& layer, const RealLayerWeights& weights) {
  const std::string place = layer_place(layer.name, layer.source);
  if (!std::holds_alternative<Conv2d>(layer.operation) &&
      !std::holds_alternative<FullyConnected>(layer.operation)) {
    fail(place, "it is a " + std::string(operation_name(layer.operation)) +
                    "; conv2d and fully_connected alone have weights");
  }
  const Shape shape = weighted_layer(layer).weights->shape;
  if (element_count(shape) / shape[0] > kMostDepth) {
    fail(place, "an output has more than " + std::to_string(kMostDepth) + " products");
  }
  std::visit([&](const auto& one) { check_weights(place, one, shape); }, weights.weights);
  if (weights.input) check_input(place, *weights.input);
}

}  // namespace qsim::golden
