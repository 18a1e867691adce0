#include "tests/golden/random_graph.h"

#include <algorithm>
#include <cmath>

namespace qsim::golden_test {
namespace {

Value random_value(Random& random, const ImageShape& shape) {
  Value value;
  value.shape = shape;
  value.dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  value.zero_point = static_cast<std::int32_t>(random.uniform(value.min(), value.max()));
  return value;
}

// Psums of random bytes have a deviation near 74 * 74 * sqrt(depth); the usual shift brings that
// to a few dozen. Some layers take any shift at all.
int random_shift(Random& random, std::int64_t depth) {
  if (random.chance(0.1)) return static_cast<int>(random.uniform(0, kMaxShift));
  const double deviation = 74.0 * 74.0 * std::sqrt(static_cast<double>(depth));
  const int usual = static_cast<int>(std::log2(deviation / 40.0));
  return std::clamp(usual + static_cast<int>(random.uniform(-1, 2)), 0, kMaxShift);
}

Requantization random_requantization(Random& random, const Value& output, std::int64_t depth) {
  Requantization rq;
  rq.rounding = static_cast<RoundingMode>(random.uniform(0, kRoundingModes - 1));
  const std::int64_t count = random.chance(0.5) ? 1 : output.shape.channels;
  for (std::int64_t i = 0; i < count; ++i) {
    rq.shifts.push_back(static_cast<std::uint8_t>(random_shift(random, depth)));
  }
  rq.lo = random.chance(0.3) ? output.zero_point : output.min();
  rq.hi = random.chance(0.3) ? static_cast<std::int32_t>(random.uniform(rq.lo, output.max()))
                             : output.max();
  return rq;
}

// Mostly as large as the psums; sometimes anything, which no longer fits 32-bit sums.
Tensor random_bias(Random& random, std::int64_t channels, std::int64_t depth) {
  Tensor bias(DType::kInt32, {channels});
  const bool any = random.chance(0.15);
  const auto usual = static_cast<std::int64_t>(5000.0 * std::sqrt(static_cast<double>(depth)));
  const std::int64_t limit = any ? INT32_MAX : usual;
  for (std::int32_t& value : bias.as<std::int32_t>()) {
    value = static_cast<std::int32_t>(random.uniform(any ? INT32_MIN : -limit, limit));
  }
  return bias;
}

// Kernel, stride and pads along one axis, and the picture's size there.
struct Axis {
  std::int64_t kernel, stride, pad_begin, pad_end, size;
};

Axis random_axis(Random& random, std::int64_t largest_kernel, bool pad_below_kernel) {
  Axis axis{};
  axis.kernel = random.uniform(
      1, random.chance(0.7) ? std::min<std::int64_t>(largest_kernel, 3) : largest_kernel);
  axis.stride = random.chance(0.5) ? 1 : random.uniform(1, 4);
  const std::int64_t largest_pad = pad_below_kernel ? axis.kernel - 1 : axis.kernel + 1;
  axis.pad_begin = random.chance(0.4) ? 0 : random.uniform(0, largest_pad);
  axis.pad_end = random.chance(0.4) ? 0 : random.uniform(0, largest_pad);
  const std::int64_t smallest =
      std::max<std::int64_t>(1, axis.kernel - axis.pad_begin - axis.pad_end);
  axis.size = random.uniform(smallest, smallest + 12);
  return axis;
}

Window window_of(const Axis& y, const Axis& x) {
  return {y.kernel, x.kernel, y.stride, x.stride, y.pad_begin, x.pad_begin, y.pad_end, x.pad_end};
}

std::int64_t count(const Axis& axis, bool ceil_mode = false) {
  return window_count(axis.size, axis.kernel, axis.stride, axis.pad_begin, axis.pad_end, ceil_mode);
}

Conv2d make_conv2d(Random& random, const Window& window, const Value& input, const Value& output) {
  const std::int64_t depth = window.kernel_h * window.kernel_w * input.shape.channels;
  return {window,
          random_tensor(
              random, DType::kInt8,
              {output.shape.channels, window.kernel_h, window.kernel_w, input.shape.channels}),
          random_bias(random, output.shape.channels, depth),
          random_requantization(random, output, depth)};
}

FullyConnected make_fully_connected(Random& random, const Value& input, const Value& output) {
  const std::int64_t depth = input.shape.channels;
  return {random_tensor(random, DType::kInt8, {output.shape.channels, depth}),
          random_bias(random, output.shape.channels, depth),
          random_requantization(random, output, depth)};
}

}  // namespace

Graph one_layer(const Value& input, Operation operation, const Value& output) {
  Graph graph;
  graph.name = "random";
  graph.input_value() = input;
  append(graph, "layer", std::move(operation), output);
  validate(graph);
  return graph;
}

Tensor random_tensor(Random& random, DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  // Now and then the ends of the range alone, which no uniform draw would meet.
  const bool ends = random.chance(0.1);
  for (std::byte& byte : tensor.bytes) {
    byte = static_cast<std::byte>(random.next() >> 40);
    if (ends) byte = (byte & std::byte{1}) != std::byte{0} ? std::byte{0x80} : std::byte{0x7F};
  }
  return tensor;
}

Graph random_conv2d(Random& random) {
  const Axis y = random_axis(random, 11, false);
  const Axis x = random_axis(random, 11, false);
  const std::int64_t channels = random.uniform(1, random.chance(0.5) ? 6 : 70);
  const Value input = random_value(random, {random.uniform(1, 3), y.size, x.size, channels});
  const std::int64_t macs_per_channel =
      input.shape.batch * count(y) * count(x) * y.kernel * x.kernel * channels;
  const std::int64_t most =
      std::clamp<std::int64_t>(std::int64_t{1'000'000} / macs_per_channel, 1, 70);
  const Value output = random_value(
      random, {input.shape.batch, count(y), count(x), random.uniform((most + 1) / 2, most)});
  return one_layer(input, make_conv2d(random, window_of(y, x), input, output), output);
}

Graph random_fully_connected(Random& random) {
  const std::int64_t batch = random.uniform(1, 9);
  const Value input = random_value(random, {batch, 1, 1, random.uniform(1, 600)});
  const Value output = random_value(random, {batch, 1, 1, random.uniform(1, 40)});
  return one_layer(input, make_fully_connected(random, input, output), output);
}

Graph random_max_pool(Random& random) {
  const Axis y = random_axis(random, 5, true);
  const Axis x = random_axis(random, 5, true);
  const bool ceil_mode = random.chance(0.5);
  const Value input =
      random_value(random, {random.uniform(1, 3), y.size, x.size, random.uniform(1, 70)});
  Value output = input;
  output.shape.height = count(y, ceil_mode);
  output.shape.width = count(x, ceil_mode);
  return one_layer(input, MaxPool{window_of(y, x)}, output);
}

Graph random_relu(Random& random) {
  const Value value = random_value(random, {random.uniform(1, 3), random.uniform(1, 9),
                                            random.uniform(1, 9), random.uniform(1, 70)});
  return one_layer(value, Relu{}, value);
}

Graph random_flatten(Random& random) {
  const Value input = random_value(random, {random.uniform(1, 3), random.uniform(1, 9),
                                            random.uniform(1, 9), random.uniform(1, 70)});
  Value output = input;
  output.shape = {input.shape.batch, 1, 1,
                  input.shape.height * input.shape.width * input.shape.channels};
  const auto order = random.chance(0.5) ? Flatten::Order::kChw : Flatten::Order::kHwc;
  return one_layer(input, Flatten{order}, output);
}

Graph random_chain(Random& random) {
  Graph graph;
  graph.name = "chain";
  graph.input_value() = random_value(random, {2, 10, 9, 3});
  const Window same{3, 3, 1, 1, 1, 1, 1, 1};
  const Value conv1 = random_value(random, {2, 10, 9, 37});
  append(graph, "conv1", make_conv2d(random, same, graph.input_value(), conv1), conv1);
  append(graph, "relu1", Relu{}, conv1);
  Value pool1 = conv1;
  pool1.shape = {2, 5, 5, 37};  // ceil_mode along the width
  append(graph, "pool1", MaxPool{{2, 2, 2, 2, 0, 0, 0, 1}}, pool1);
  const Value conv2 = random_value(random, {2, 5, 5, 20});
  append(graph, "conv2", make_conv2d(random, same, pool1, conv2), conv2);
  Value flat = conv2;
  flat.shape = {2, 1, 1, 500};
  append(graph, "flatten", Flatten{}, flat);
  const Value fc = random_value(random, {2, 1, 1, 10});
  append(graph, "fc", make_fully_connected(random, flat, fc), fc);
  validate(graph);
  return graph;
}

}  // namespace qsim::golden_test
