#include <cmath>

#include "golden/common/float_formats.h"
#include "tests/golden/train/cuda/forward_cases.h"

namespace qsim::golden_test {

using namespace golden::train;

namespace {

std::vector<float> random_floats(Random& random, std::int64_t count, double scale) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(static_cast<double>(random.uniform(-1000, 1000)) * scale));
  }
  return values;
}

std::string described(const std::string& difference, const LevelConv& conv) {
  return difference.empty() ? "" : difference + "; " + text_of(conv);
}

}  // namespace

std::string conv_real_case(Random& random, CallBuffers& buffers) {
  const CallConv conv = random_conv(random, buffers);
  const ImageShape& shape = conv.conv.y_shape;
  const std::int64_t outs = shape.channels;
  const std::size_t scale = buffers.add(std::vector<float>{0.0123F});
  const std::size_t w_scales = buffers.add(random_floats(random, outs, 1e-5));
  const std::size_t bias = buffers.add(random_floats(random, outs, 1e-2));
  const bool has_bias = random.chance(0.6);
  const RandomReal y = random_real(random, buffers, {shape.batch, shape.height, shape.width, outs},
                                   RealNumbers::kTies);
  const auto passes = maybe_output(random, buffers, 0.6, bit_bytes(y.tensor.elems()));
  ConvReal call;
  call.relu = random.chance(0.6);
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.scale = buffers.at<float>(scale, on_device);
    call.w_scales = buffers.at<float>(w_scales, on_device);
    call.bias = has_bias ? buffers.at<float>(bias, on_device) : nullptr;
    call.y = tensor_at(y, buffers, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::string conv_levels_case(Random& random, CallBuffers& buffers) {
  const CallConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const std::int64_t elems = conv.conv.pixels() * outs;
  std::vector<float> factors = random_floats(random, outs, 2e-6);
  if (random.chance(0.1)) factors[0] = INFINITY;
  if (random.chance(0.1)) factors[0] = NAN;
  const std::size_t multipliers = buffers.add(factors);
  std::vector<std::int32_t> biases;
  for (std::int64_t i = 0; i < outs; ++i) {
    biases.push_back(static_cast<std::int32_t>(random.uniform(-20000, 20000)));
  }
  const std::size_t bias = buffers.add(biases);
  const bool has_bias = random.chance(0.6);
  const std::size_t zero_point =
      buffers.add(std::vector<std::int32_t>{static_cast<std::int32_t>(random.uniform(-128, 127))});
  const bool has_zero_point = random.chance(0.4);
  const std::size_t y = buffers.add_output(elems, random_shift(random));
  const auto passes = maybe_output(random, buffers, 0.6, bit_bytes(elems));
  const std::size_t range = buffers.add_output(8);
  const bool has_range = random.chance(0.5);
  ConvLevels call;
  call.relu = random.chance(0.6);
  const Levels levels = random_levels(random, true);
  call.lo = levels.lo;
  call.hi = levels.hi;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.multipliers = buffers.at<float>(multipliers, on_device);
    call.bias = has_bias ? buffers.at<std::int32_t>(bias, on_device) : nullptr;
    call.y_zero_point = has_zero_point ? buffers.at<std::int32_t>(zero_point, on_device) : nullptr;
    call.y = buffers.at<std::int8_t>(y, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    call.range = has_range ? buffers.at<float>(range, on_device) : nullptr;
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::string conv_statistics_case(Random& random, CallBuffers& buffers) {
  const CallConv conv = random_conv(random, buffers);
  const std::size_t sums = buffers.add_output(conv.conv.y_shape.channels * 24);
  ConvStatistics call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.sums = buffers.at<std::int64_t>(sums, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

namespace {

std::vector<std::uint16_t> random_gradient(Random& random, std::int64_t count) {
  std::vector<std::uint16_t> g;
  for (const float value : random_floats(random, count, 1e-3)) {
    g.push_back(golden::bfloat16_from_float(value));
  }
  return g;
}

}  // namespace

// Each sum is within 2^-18 of what the magnitudes add up to.
std::string conv_gradient_sums_case(Random& random, CallBuffers& buffers) {
  const CallConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const auto gradient = random_gradient(random, conv.conv.pixels() * outs);
  const std::size_t g = buffers.add(gradient, random.chance(0.2) ? 2 : 0);
  const std::size_t sums = buffers.add_output(outs * 8);
  ConvGradientSums call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.g = buffers.at<std::uint16_t>(g, on_device);
    call.sums = buffers.at<float>(sums, on_device);
    return call;
  });
  const std::vector<std::uint8_t> bytes = buffers.from_device(sums);
  const auto* expected = buffers.at<float>(sums, false);
  // |g| < 1.01, |acc| <= 2^15 a product (a zero_point included).
  const auto elems = static_cast<double>(std::max<std::int64_t>(conv.conv.pixels(), 1));
  const double most[2] = {elems, elems * 32768.0 * static_cast<double>(conv.conv.depth())};
  for (std::int64_t i = 0; i < outs * 2; ++i) {
    float found = 0;
    std::memcpy(&found, bytes.data() + i * 4, 4);
    const double off = std::fabs(double{found} - double{expected[i]});
    if (!(off <= most[i % 2] * 0x1p-22 * std::sqrt(1 / elems) * 4)) {
      return described("sum " + std::to_string(i) + " is " + std::to_string(found) + ", not " +
                           std::to_string(expected[i]),
                       call.conv);
    }
  }
  return described(buffers.first_difference({sums}), call.conv);
}

std::string conv_normalize_gradient_case(Random& random, CallBuffers& buffers) {
  const CallConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const std::size_t factors = buffers.add(random_floats(random, outs * 3, 1e-4));
  const std::size_t g =
      buffers.add(random_gradient(random, conv.conv.pixels() * outs), random.chance(0.2) ? 2 : 0);
  ConvNormalizeGradient call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.factors = buffers.at<float>(factors, on_device);
    call.g = buffers.at<std::uint16_t>(g, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

}  // namespace qsim::golden_test
