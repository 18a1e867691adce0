#include "tests/golden/random_operations.h"

#include <algorithm>
#include <cmath>

#include "tests/golden/random_graph.h"

namespace qsim::golden_test {
namespace {

// Psums of random bytes have a deviation near this times sqrt(depth).
constexpr double kDeviation = 74.0 * 74.0;

std::int32_t random_low(Random& random, const Value& output) {
  return random.chance(0.3) ? output.zero_point : output.min();
}

std::int32_t random_high(Random& random, std::int32_t low, const Value& output) {
  return random.chance(0.3) ? static_cast<std::int32_t>(random.uniform(low, output.max()))
                            : output.max();
}

// The scale that brings psums to a few dozen; now and then any scale at all.
Requantizer random_requantizer(Random& random, double deviation, RequantizerRounding rounding) {
  Requantizer r{static_cast<std::uint32_t>(random.uniform(kLeastMultiplier, kMostMultiplier)), 0,
                rounding};
  if (random.chance(0.2)) r.multiplier = kLeastMultiplier;
  const int usual = static_cast<int>(std::log2(deviation / 40.0)) + kMultiplierBits - 1;
  const auto shift =
      random.chance(0.05) ? random.uniform(0, kMostRequantizerShift) : usual + random.uniform(0, 2);
  r.shift = static_cast<int>(std::clamp<std::int64_t>(shift, 0, kMostRequantizerShift));
  if (!is_tflite(rounding)) return r;
  return tflite_requantizer(std::ldexp(r.multiplier, -r.shift), rounding);
}

Requantization random_requantization(Random& random, const Value& output, double deviation,
                                     const OperationLimits& limits) {
  Requantization rq;
  const std::int64_t count = random.chance(0.5) ? 1 : output.shape.channels;
  const bool is_dyadic = !limits.shifts || random.chance(0.7);
  const RequantizerRounding rounding = random_rounding(random, limits);
  rq.rounding = static_cast<RoundingMode>(random.uniform(0, kRoundingModes - 1));
  for (std::int64_t i = 0; i < count; ++i) {
    const Requantizer r = random_requantizer(random, deviation, rounding);
    if (is_dyadic) {
      rq.requantizers.push_back(r);
    } else {
      const int shift = std::clamp(r.shift - (kMultiplierBits - 1), 0, kMaxShift);
      rq.shifts.push_back(static_cast<std::uint8_t>(shift));
    }
  }
  rq.lo = random_low(random, output);
  rq.hi = random_high(random, rq.lo, output);
  return rq;
}

Tensor random_weights(Random& random, const Shape& shape, const OperationLimits& limits) {
  if (!limits.wide_weights || random.chance(0.7)) {
    return random_tensor(random, DType::kInt8, shape);
  }
  Tensor weights(DType::kInt16, shape);
  const double ends = random.chance(0.1) ? 1.0 : 0.05;
  const auto zero_point = random.uniform(0, 255);  // of the file's uint8 weights
  for (std::int16_t& weight : weights.as<std::int16_t>()) {
    const std::int64_t level =
        random.chance(ends) ? 255 * random.uniform(0, 1) : random.uniform(0, 255);
    weight = static_cast<std::int16_t>(level - zero_point);
  }
  return weights;
}

// Mostly as large as the psums; sometimes anything, which no longer fits 32-bit sums.
Tensor random_bias(Random& random, std::int64_t channels, double deviation,
                   const OperationLimits& limits) {
  Tensor bias(DType::kInt32, {channels});
  const bool any = limits.wide_psums && random.chance(0.1);
  const auto usual = static_cast<std::int64_t>(deviation);
  for (std::int32_t& value : bias.as<std::int32_t>()) {
    value = static_cast<std::int32_t>(
        random.uniform(any ? INT32_MIN : -usual, any ? INT32_MAX : usual));
  }
  return bias;
}

// One axis of a window.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, pad_begin = 0, pad_end = 0, dilation = 1;
};

WindowAxis random_window_axis(Random& random, std::int64_t size, std::int64_t largest_kernel,
                              bool pads_below, bool may_dilate) {
  WindowAxis axis;
  axis.kernel = random.chance(0.3) ? 1 : random.uniform(1, std::min(largest_kernel, size + 2));
  if (may_dilate && random.chance(0.3)) axis.dilation = random.uniform(1, 3);
  axis.stride = random.chance(0.6) ? 1 : random.uniform(1, 3);
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t largest_pad = pads_below ? axis.kernel - 1 : axis.kernel + 1;
  axis.pad_begin = random.chance(0.4) ? 0 : random.uniform(0, largest_pad);
  axis.pad_end = random.chance(0.4) ? 0 : random.uniform(0, largest_pad);
  if (size + axis.pad_begin + axis.pad_end < extent) return {};
  return axis;
}

ImageShape random_picture(Random& random, std::int64_t channels) {
  return {random.uniform(1, 3), random.uniform(1, 15), random.uniform(1, 15), channels};
}

}  // namespace

RequantizerRounding random_rounding(Random& random, const OperationLimits& limits) {
  return limits
      .roundings[static_cast<std::size_t>(random.uniform(0, std::ssize(limits.roundings) - 1))];
}

Value random_scaled_value(Random& random, const ImageShape& shape) {
  Value value;
  value.shape = shape;
  value.dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  value.zero_point = static_cast<std::int32_t>(random.uniform(value.min(), value.max()));
  const auto exponent = static_cast<int>(random.uniform(-6, -2));
  const auto multiplier = static_cast<float>(random.uniform(kLeastMultiplier, kMostMultiplier));
  value.scale = random.chance(0.33)
                    ? Scale::power_of_two(exponent)
                    : Scale::of(std::ldexp(multiplier, exponent - (kMultiplierBits - 1)));
  return value;
}

Window random_window(Random& random, const ImageShape& picture, std::int64_t largest_kernel,
                     bool pads_below_kernel, bool may_dilate) {
  const WindowAxis y =
      random_window_axis(random, picture.height, largest_kernel, pads_below_kernel, may_dilate);
  const WindowAxis x =
      random_window_axis(random, picture.width, largest_kernel, pads_below_kernel, may_dilate);
  return {y.kernel,    x.kernel,  y.stride,  x.stride,   y.pad_begin,
          x.pad_begin, y.pad_end, x.pad_end, y.dilation, x.dilation};
}

ImageShape windowed(const ImageShape& picture, const Window& w, std::int64_t channels,
                    bool ceil_mode) {
  return {
      picture.batch,
      window_count(picture.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil_mode),
      window_count(picture.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil_mode),
      channels};
}

Conv2d random_conv2d_of(Random& random, const Window& window, std::int64_t groups,
                        const Value& input, const Value& output, const OperationLimits& limits) {
  const std::int64_t channels = input.shape.channels / groups;
  const auto depth = static_cast<double>(window.kernel_h * window.kernel_w * channels);
  const double deviation = kDeviation * std::sqrt(depth);
  Tensor weights = random_weights(
      random, {output.shape.channels, window.kernel_h, window.kernel_w, channels}, limits);
  return {window, std::move(weights), random_bias(random, output.shape.channels, deviation, limits),
          random_requantization(random, output, deviation, limits), groups};
}

FullyConnected random_fully_connected_of(Random& random, const Value& input, const Value& output,
                                         const OperationLimits& limits) {
  const double deviation = kDeviation * std::sqrt(static_cast<double>(input.shape.channels));
  Tensor weights = random_weights(random, {output.shape.channels, input.shape.channels}, limits);
  return {std::move(weights), random_bias(random, output.shape.channels, deviation, limits),
          random_requantization(random, output, deviation, limits)};
}

AveragePool random_average_pool_of(Random& random, const Window& window, const Value& output,
                                   const OperationLimits& limits) {
  AveragePool pool{window, random.chance(0.5), random_rounding(random, limits)};
  pool.lo = random_low(random, output);
  pool.hi = random_high(random, pool.lo, output);
  return pool;
}

Add random_add_of(Random& random, const Value& output, const OperationLimits& limits) {
  Add add{random_rounding(random, limits)};
  add.lo = random_low(random, output);
  add.hi = random_high(random, add.lo, output);
  return add;
}

LookupTable random_lookup_table(Random& random) {
  LookupTable table{"random"};
  for (std::uint8_t& byte : table.bytes) byte = static_cast<std::uint8_t>(random.next() >> 40);
  return table;
}

PRelu random_prelu_of(Random& random, std::int64_t channels) {
  PRelu prelu{Tensor(DType::kFloat32, {random.chance(0.2) ? 1 : channels})};
  for (float& slope : prelu.slopes.as<float>()) {
    slope = random.chance(0.1) ? 0.0F : static_cast<float>(random.uniform(-500, 1500)) / 1000.0F;
  }
  return prelu;
}

Graph random_grouped_conv2d(Random& random) {
  const bool is_depthwise = random.chance(0.4);
  const std::int64_t per_group = is_depthwise ? 1 : random.uniform(1, random.chance(0.5) ? 4 : 40);
  const std::int64_t groups = random.uniform(1, is_depthwise ? 150 : 80 / per_group);
  const Value input = random_scaled_value(random, random_picture(random, groups * per_group));
  const Window window = random_window(random, input.shape, 7, false, true);
  const std::int64_t outputs = random.chance(0.6) ? 1 : random.uniform(1, 80 / groups + 1);
  const Value output = random_scaled_value(random, windowed(input.shape, window, groups * outputs));
  return one_layer(input, random_conv2d_of(random, window, groups, input, output, {}), output);
}

Graph random_scaled_fully_connected(Random& random) {
  const std::int64_t batch = random.uniform(1, 9);
  const Value input = random_scaled_value(random, {batch, 1, 1, random.uniform(1, 600)});
  const Value output = random_scaled_value(random, {batch, 1, 1, random.uniform(1, 70)});
  return one_layer(input, random_fully_connected_of(random, input, output, {}), output);
}

Graph random_dilated_max_pool(Random& random) {
  const Value input = random_scaled_value(random, random_picture(random, random.uniform(1, 70)));
  Value output = input;
  const Window window = random_window(random, input.shape, 5, true, true);
  output.shape = windowed(input.shape, window, input.shape.channels, random.chance(0.5));
  return one_layer(input, MaxPool{window}, output);
}

Graph random_average_pool(Random& random) {
  const Value input = random_scaled_value(random, random_picture(random, random.uniform(1, 70)));
  const ImageShape& in = input.shape;
  const Window window = random.chance(0.3) ? Window{.kernel_h = in.height, .kernel_w = in.width}
                                           : random_window(random, in, 5, true, false);
  Value output = random_scaled_value(random, windowed(in, window, in.channels, random.chance(0.5)));
  if (random.chance(0.5)) output.scale = input.scale;
  return one_layer(input, random_average_pool_of(random, window, output, {}), output);
}

Graph random_add(Random& random) {
  const Value input = random_scaled_value(random, random_picture(random, random.uniform(1, 70)));
  const Value other = random_scaled_value(random, input.shape);
  Value output = random_scaled_value(random, input.shape);
  output.scale = Scale::of((input.scale->real() + other.scale->real()) *
                           static_cast<float>(random.uniform(1, 8)) / 8.0F);
  Graph graph;
  graph.name = "random";
  graph.input_value() = input;
  const TensorId b = append(graph, "table", random_lookup_table(random), other);
  append(graph, "add", random_add_of(random, output, {}), {graph.input, b}, output);
  validate(graph);
  return graph;
}

Graph random_concat(Random& random) {
  Graph graph;
  graph.name = "random";
  graph.input_value() = random_scaled_value(random, random_picture(random, random.uniform(1, 70)));
  Value output = random_scaled_value(random, graph.input_value().shape);
  std::vector<TensorId> operands;
  for (std::int64_t i = random.uniform(2, 4); i > 0; --i) {
    operands.push_back(append(graph, "table" + std::to_string(i), random_lookup_table(random),
                              {graph.input}, output));
  }
  output.shape.channels *= std::ssize(operands);
  append(graph, "concat", Concat{}, operands, output);
  validate(graph);
  return graph;
}

Graph random_prelu(Random& random) {
  const Value input = random_scaled_value(random, random_picture(random, random.uniform(1, 70)));
  Value output = random_scaled_value(random, input.shape);
  output.scale = Scale::of(input.scale->real() * static_cast<float>(random.uniform(4, 12)) / 8.0F);
  return one_layer(input, random_prelu_of(random, input.shape.channels), output);
}

}  // namespace qsim::golden_test
