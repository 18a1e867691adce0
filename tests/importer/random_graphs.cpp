#include "tests/importer/random_graphs.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"

namespace qsim {
namespace {

// The largest magnitude of weights: all of int8.
constexpr std::int64_t kAnyWeight = 128;

class GraphMaker {
 public:
  explicit GraphMaker(std::uint64_t seed) : random_(seed) {
    dtype_ = random_.chance(0.5) ? DType::kUint8 : DType::kInt8;
    graph_.name = "random " + std::to_string(seed);
    graph_.host.layout = HostInterface::Layout::kNchw;
  }

  void start(const ImageShape& shape) { graph_.input_value() = value(shape); }
  void add_convolution();
  void add_max_pool();
  void add_relu() { add("relu", Relu{}, current()); }
  void add_flatten();
  void add_fully_connected();
  bool is_flat() const;  // the last tensor is a list, not a picture
  void choose_host();

  std::int64_t pick(std::int64_t low, std::int64_t high) { return random_.uniform(low, high); }
  bool chance(double probability) { return random_.chance(probability); }
  const Value& current() const { return graph_.output_value(); }
  Graph take() { return std::move(graph_); }

 private:
  Value value(const ImageShape& shape);
  void add(const std::string& name, Operation operation, const Value& output);
  Window window(std::int64_t max_kernel, std::int64_t max_stride, const ImageShape& shape);
  Tensor weights(const Shape& shape, std::int64_t largest);
  Requantization requantization(std::int64_t depth, std::int64_t largest, const Value& output);
  Tensor bias(const Requantization& requantization, std::int64_t channels);

  Random random_;
  DType dtype_;
  Graph graph_;
};

Value GraphMaker::value(const ImageShape& shape) {
  Value value{shape, dtype_, 0, Scale::power_of_two(-static_cast<int>(pick(0, 8)))};
  const std::int64_t choice = pick(0, 3);
  value.zero_point = static_cast<std::int32_t>(choice == 0   ? 0
                                               : choice == 1 ? value.min()
                                                             : pick(value.min(), value.max()));
  return value;
}

void GraphMaker::add(const std::string& name, Operation operation, const Value& output) {
  const std::string number = std::to_string(graph_.layers.size());
  append(graph_, name + number, std::move(operation), output);
}

Window GraphMaker::window(std::int64_t max_kernel, std::int64_t max_stride,
                          const ImageShape& shape) {
  Window w;
  const auto pads = [&](std::int64_t size, std::int64_t& kernel, std::int64_t& begin,
                        std::int64_t& end) {
    kernel = pick(1, max_kernel);
    begin = chance(0.5) ? pick(0, kernel - 1) : 0;
    end = chance(0.5) ? pick(0, kernel - 1) : 0;
    kernel = std::min(kernel, size);
    begin = std::min(begin, kernel - 1);
    end = std::min(end, kernel - 1);
  };
  pads(shape.height, w.kernel_h, w.pad_top, w.pad_bottom);
  pads(shape.width, w.kernel_w, w.pad_left, w.pad_right);
  w.stride_h = pick(1, max_stride);
  w.stride_w = pick(1, max_stride);
  return w;
}

Tensor GraphMaker::weights(const Shape& shape, std::int64_t largest) {
  Tensor tensor(DType::kInt8, shape);
  for (std::int8_t& w : tensor.as<std::int8_t>())
    w = static_cast<std::int8_t>(pick(-largest, std::min<std::int64_t>(largest, 127)));
  return tensor;
}

// Shifts around the one that spreads psums of `depth` products over the 8-bit range.
Requantization GraphMaker::requantization(std::int64_t depth, std::int64_t largest,
                                          const Value& output) {
  const double spread =
      std::sqrt(static_cast<double>(depth)) * 90 * static_cast<double>(largest) * 0.6 / 50;
  const auto middle = static_cast<std::int64_t>(std::lround(std::log2(std::max(spread, 1.0))));
  const bool anywhere = chance(0.25);
  Requantization result;
  result.lo = output.min();
  result.hi = output.max();
  const std::int64_t count = chance(0.5) ? output.shape.channels : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t shift = anywhere ? pick(0, 16) : pick(middle - 1, middle + 1);
    result.shifts.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(shift, 0, 16)));
  }
  return result;
}

// Draws up to 64 steps of the ofmap, so that large shifts do not make it constant.
Tensor GraphMaker::bias(const Requantization& requantization, std::int64_t channels) {
  Tensor tensor(DType::kInt32, {channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t range = std::int64_t{64} << requantization.shift(c);
    tensor.as<std::int32_t>()[static_cast<std::size_t>(c)] =
        static_cast<std::int32_t>(pick(-range, range));
  }
  return tensor;
}

void GraphMaker::add_convolution() {
  const ImageShape in = current().shape;
  const Window w = window(5, 3, in);
  const std::int64_t out_channels = pick(1, 8);
  const Value output = value(
      {in.batch, window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
       window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right), out_channels});
  const std::int64_t largest = chance(0.2) ? 1 : chance(0.2) ? 7 : kAnyWeight;
  Conv2d conv;
  conv.window = w;
  conv.weights = weights({out_channels, w.kernel_h, w.kernel_w, in.channels}, largest);
  conv.requantization = requantization(w.kernel_h * w.kernel_w * in.channels, largest, output);
  conv.bias = bias(conv.requantization, out_channels);
  add("conv", std::move(conv), output);
}

void GraphMaker::add_max_pool() {
  Value output = current();
  const ImageShape in = output.shape;
  const Window w = window(3, 3, in);
  const bool ceil = chance(0.5);
  output.shape.height =
      window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, ceil);
  output.shape.width =
      window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, ceil);
  add("pool", MaxPool{w}, output);
}

void GraphMaker::add_flatten() {
  Value output = current();
  const ImageShape in = output.shape;
  output.shape = {in.batch, 1, 1, in.height * in.width * in.channels};
  add("flatten", Flatten{chance(0.3) ? Flatten::Order::kHwc : Flatten::Order::kChw}, output);
}

void GraphMaker::add_fully_connected() {
  const ImageShape in = current().shape;
  const Value output = value({in.batch, 1, 1, pick(1, 20)});
  const std::int64_t out_channels = output.shape.channels;
  const std::int64_t largest = chance(0.2) ? 7 : kAnyWeight;
  FullyConnected fc;
  fc.weights = weights({out_channels, in.channels}, largest);
  fc.requantization = requantization(in.channels, largest, output);
  fc.bias = bias(fc.requantization, out_channels);
  add("fc", std::move(fc), output);
}

bool GraphMaker::is_flat() const {
  return std::any_of(graph_.layers.begin(), graph_.layers.end(), [](const Layer& layer) {
    return std::holds_alternative<Flatten>(layer.operation) ||
           std::holds_alternative<FullyConnected>(layer.operation);
  });
}

void GraphMaker::choose_host() {
  const bool flat_input = std::holds_alternative<FullyConnected>(graph_.layers[0].operation);
  graph_.host.flat_output = is_flat();
  graph_.host.float_input = chance(0.5);
  // Bytes in and bytes out of pools alone would leave the file without any scale.
  const bool has_scale =
      std::any_of(graph_.layers.begin(), graph_.layers.end(), [](const Layer& layer) {
        return std::holds_alternative<Conv2d>(layer.operation) ||
               std::holds_alternative<FullyConnected>(layer.operation);
      });
  graph_.host.float_output = chance(0.5) || !has_scale;
  if (!flat_input && chance(0.3)) graph_.host.layout = HostInterface::Layout::kNhwc;
}

bool same(const Requantization& a, const Requantization& b) {
  return a.rounding == b.rounding && a.shifts == b.shifts && a.lo == b.lo && a.hi == b.hi;
}
bool same(const Conv2d& a, const Conv2d& b) {
  return a.window == b.window && a.weights == b.weights && a.bias == b.bias &&
         same(a.requantization, b.requantization);
}
bool same(const FullyConnected& a, const FullyConnected& b) {
  return a.weights == b.weights && a.bias == b.bias && same(a.requantization, b.requantization);
}
bool same(const MaxPool& a, const MaxPool& b) { return a.window == b.window; }
bool same(const Relu&, const Relu&) { return true; }
bool same(const Flatten& a, const Flatten& b) { return a.order == b.order; }

bool same(const Operation& a, const Operation& b) {
  return a.index() == b.index() && std::visit(
                                       [&](const auto& operation) {
                                         using T = std::decay_t<decltype(operation)>;
                                         return same(operation, std::get<T>(b));
                                       },
                                       a);
}

}  // namespace

Graph random_convolution(std::uint64_t seed) {
  GraphMaker maker(seed);
  maker.start({maker.pick(1, 2), maker.pick(3, 12), maker.pick(3, 12), maker.pick(1, 8)});
  maker.add_convolution();
  return maker.take();
}

Graph random_chain(std::uint64_t seed) {
  GraphMaker maker(seed);
  const bool flat = maker.chance(0.2);
  if (flat) {
    maker.start({maker.pick(1, 3), 1, 1, maker.pick(1, 40)});
  } else {
    maker.start({maker.pick(1, 3), maker.pick(2, 10), maker.pick(2, 10), maker.pick(1, 6)});
    maker.add_max_pool();
    if (maker.chance(0.5)) maker.add_convolution();
    const Value& last = maker.current();
    if (!last.is_unsigned() && last.zero_point == 0) maker.add_relu();
    if (maker.chance(0.5)) maker.add_max_pool();
    if (maker.chance(0.8)) maker.add_flatten();
  }
  if (flat || maker.is_flat()) {
    for (std::int64_t i = maker.pick(1, 2); i > 0; --i) maker.add_fully_connected();
  }
  maker.choose_host();
  return maker.take();
}

Tensor random_input(const Graph& graph, std::uint64_t seed) {
  Random random(seed ^ 0xA5A5A5A5);
  Tensor tensor(graph.input_value().dtype, graph.input_value().shape.nhwc());
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.next());
  return tensor;
}

std::string difference(const Graph& a, const Graph& b) {
  if (a.name != b.name) return "name";
  if (a.input_value() != b.input_value()) return "input";
  if (a.host.layout != b.host.layout || a.host.float_input != b.host.float_input ||
      a.host.float_output != b.host.float_output || a.host.flat_output != b.host.flat_output) {
    return "host interface";
  }
  if (a.layers.size() != b.layers.size()) return "layer count";
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const Layer& x = a.layers[i];
    const Layer& y = b.layers[i];
    if (x.name != y.name) return "name of layer " + x.name;
    if (a.output_of(i) != b.output_of(i)) return "output of layer " + x.name;
    if (!same(x.operation, y.operation)) return "operation of layer " + x.name;
  }
  return "";
}

}  // namespace qsim
