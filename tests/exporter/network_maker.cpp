#include "tests/exporter/network_maker.h"

#include <algorithm>
#include <cmath>

#include "core/network/float_rules.h"
#include "core/network/graph_cleanup.h"

namespace qsim {
namespace {

float scale_near(Random& random, double middle, bool power_of_two) {
  const double octaves = static_cast<double>(random.uniform(-1000, 1000)) / 1000.0;
  const double real = std::exp2(std::log2(middle) + octaves);
  return static_cast<float>(power_of_two ? std::exp2(std::round(std::log2(real))) : real);
}

// Whether the shape inference of ONNX, by which ONNX Runtime checks shapes, counts as many windows
// as there are: it counts those that start after the picture.
bool infers_ceil(const ImageShape& in, const Window& w) {
  const auto axis = [](std::int64_t size, std::int64_t extent, std::int64_t stride,
                       std::int64_t begin, std::int64_t end) {
    const std::int64_t inferred = (size + begin + end - extent + stride - 1) / stride + 1;
    return inferred == window_count(size, extent, stride, begin, end, true);
  };
  return axis(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom) &&
         axis(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right);
}

}  // namespace

NetworkMaker::NetworkMaker(std::uint64_t seed, const NetworkStyle& style, const ImageShape& input)
    : random_(seed), style_(style) {
  network_.graph.name = "random " + std::to_string(seed);
  network_.graph.host.layout = HostInterface::Layout::kNchw;
  network_.graph.input_value() = value(input);
}

Value NetworkMaker::value(const ImageShape& shape) {
  const bool other = style_.mixed_types && chance(0.3);
  Value value{shape, style_.is_unsigned != other ? DType::kUint8 : DType::kInt8, 0, {}};
  const std::int64_t choice = pick(0, 3);
  value.zero_point = static_cast<std::int32_t>(choice == 0   ? 0
                                               : choice == 1 ? value.min()
                                                             : pick(value.min(), value.max()));
  value.scale = Scale::of(scale_near(random_, 0.05, style_.powers_of_two));
  return value;
}

Window NetworkMaker::window(std::int64_t max_kernel, bool with_pads, bool with_dilation) {
  const ImageShape& in = current().shape;
  Window w;
  const auto axis = [&](std::int64_t size, std::int64_t& kernel, std::int64_t& dilation,
                        std::int64_t& begin, std::int64_t& end) {
    kernel = std::min(pick(1, max_kernel), size);
    dilation = with_dilation && chance(0.5) ? 2 : 1;
    if ((kernel - 1) * dilation + 1 > size) dilation = 1;
    begin = with_pads ? pick(0, kernel - 1) : 0;
    end = with_pads ? pick(0, kernel - 1) : 0;
  };
  axis(in.height, w.kernel_h, w.dilation_h, w.pad_top, w.pad_bottom);
  axis(in.width, w.kernel_w, w.dilation_w, w.pad_left, w.pad_right);
  w.stride_h = pick(1, 2);
  w.stride_w = pick(1, 2);
  return w;
}

Tensor NetworkMaker::weights(const Shape& shape, WeightScales& scales) {
  const std::int64_t channels = shape[0];
  const std::int64_t count = style_.per_channel ? channels : 1;
  if (style_.uint8_weights) {
    for (std::int64_t i = 0; i < count; ++i) {
      scales.zero_points.push_back(static_cast<std::int32_t>(chance(0.5) ? 128 : pick(0, 255)));
    }
  }
  Tensor wide(DType::kInt16, shape);
  const auto numbers = wide.as<std::int16_t>();
  const std::size_t each = numbers.size() / static_cast<std::size_t>(channels);
  bool fits = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::int64_t zero_point = 128;  // of levels -128..127
    if (style_.uint8_weights) zero_point = scales.zero_points[count == 1 ? 0 : i / each];
    numbers[i] = static_cast<std::int16_t>(style_.narrow_weights ? pick(-64, 63)
                                                                 : pick(0, 255) - zero_point);
    fits = fits && numbers[i] >= -128 && numbers[i] <= 127;
  }
  if (!fits) return wide;
  Tensor narrow(DType::kInt8, shape);
  std::ranges::transform(numbers, narrow.as<std::int8_t>().begin(),
                         [](std::int16_t number) { return static_cast<std::int8_t>(number); });
  return narrow;
}

void NetworkMaker::random_clamp(const Value& output, std::int32_t& lo, std::int32_t& hi) {
  lo = output.min();
  hi = output.max();
  const std::int64_t choice = pick(0, 3);
  if (choice == 1) lo = output.zero_point;
  if (choice == 2) {
    lo = static_cast<std::int32_t>(pick(output.min(), output.max()));
    hi = static_cast<std::int32_t>(pick(lo, output.max()));
  }
}

Requantization NetworkMaker::requantization(std::int64_t depth, const Value& input,
                                            const Value& output, WeightScales& scales) {
  Requantization result;
  result.lo = output.min();
  random_clamp(output, result.lo, result.hi);
  const double largest = style_.narrow_weights ? 37 : 74;
  const double spread = std::sqrt(static_cast<double>(depth)) * largest * 90 / 50;
  const std::int64_t count = style_.per_channel ? output.shape.channels : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = input.scale->real();
    const float y = output.scale->real();
    const float wanted = scale_near(random_, 1 / spread, style_.powers_of_two);
    scales.scales.push_back(wanted * y / x);
    const Scale scale = Scale::of((x * scales.scales.back()) / y).value();
    result.requantizers.push_back(requantizer_of(scale, RequantizerRounding::kFloat32));
  }
  return result;
}

TensorId NetworkMaker::append_layer(const std::string& kind, Operation operation,
                                    std::vector<TensorId> inputs, const Value& output,
                                    WeightScales scales, std::optional<Activation> activation,
                                    std::string name) {
  Graph& graph = network_.graph;
  if (name.empty()) name = kind + std::to_string(graph.layers.size());
  network_.weights.push_back(std::move(scales));
  network_.activations.push_back(activation);
  network_.real_layers.push_back(-1);
  return append(graph, std::move(name), std::move(operation), std::move(inputs), output);
}

TensorId NetworkMaker::conv(std::int64_t channels, const Window& w, std::int64_t groups,
                            std::optional<TensorId> from) {
  const TensorId id = from.value_or(last());
  const Value in = graph().tensors[id];
  const Value out = value(
      {in.shape.batch,
       window_count(in.shape.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
       window_count(in.shape.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right), channels});
  Conv2d conv;
  conv.window = w;
  conv.groups = groups;
  WeightScales scales;
  const std::int64_t depth = in.shape.channels / groups;
  conv.weights = weights({channels, w.kernel_h, w.kernel_w, depth}, scales);
  conv.requantization = requantization(w.kernel_h * w.kernel_w * depth, in, out, scales);
  conv.bias = Tensor(DType::kInt32, {channels});
  for (std::int32_t& bias : conv.bias.as<std::int32_t>()) {
    bias = static_cast<std::int32_t>(pick(-5000, 5000));
  }
  return append_layer("conv", std::move(conv), {id}, out, std::move(scales));
}

TensorId NetworkMaker::fully_connected(std::int64_t channels) {
  const Value in = current();
  const Value out = value({in.shape.batch, 1, 1, channels});
  FullyConnected fc;
  WeightScales scales;
  fc.weights = weights({channels, in.shape.channels}, scales);
  fc.requantization = requantization(in.shape.channels, in, out, scales);
  fc.bias = Tensor(DType::kInt32, {channels});
  for (std::int32_t& bias : fc.bias.as<std::int32_t>()) {
    bias = static_cast<std::int32_t>(pick(-5000, 5000));
  }
  return append_layer("fc", std::move(fc), {last()}, out, std::move(scales));
}

TensorId NetworkMaker::max_pool(const Window& w, bool ceil) {
  Value out = current();
  const ImageShape in = out.shape;
  ceil = ceil && infers_ceil(in, w);
  out.shape.height =
      window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil);
  out.shape.width = window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil);
  return append_layer("max_pool", MaxPool{w}, {last()}, out);
}

TensorId NetworkMaker::average_pool(const Window& w, bool ceil, bool count_include_pad) {
  const ImageShape in = current().shape;
  ceil = ceil && infers_ceil(in, w);
  Value out = value(
      {in.batch, window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil),
       window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil),
       in.channels});
  AveragePool pool{w, count_include_pad};
  random_clamp(out, pool.lo, pool.hi);
  return append_layer("average_pool", pool, {last()}, out);
}

TensorId NetworkMaker::global_pool() {
  Window whole;
  whole.kernel_h = current().shape.height;
  whole.kernel_w = current().shape.width;
  return average_pool(whole, false, false);
}

TensorId NetworkMaker::add(TensorId a, TensorId b) {
  const Value out = value(graph().tensors[a].shape);
  Add add;
  random_clamp(out, add.lo, add.hi);
  return append_layer("add", add, {a, b}, out);
}

TensorId NetworkMaker::concat(std::vector<TensorId> operands) {
  Value out = chance(0.5) ? graph().tensors[operands[0]] : value({});
  out.shape = graph().tensors[operands[0]].shape;
  out.shape.channels = 0;
  std::size_t tables = 0;
  for (const TensorId id : operands) {
    const Value& own = graph().tensors[id];
    out.shape.channels += own.shape.channels;
    tables += own.dtype != out.dtype || own.zero_point != out.zero_point || own.scale != out.scale;
  }
  const std::string name = "concat" + std::to_string(graph().layers.size() + tables);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Value own = graph().tensors[operands[i]];
    Value to = out;
    to.shape = own.shape;
    if (to == own) continue;
    operands[i] = append_layer("", LookupTable{"requantize", requantizing_table(own, to)},
                               {operands[i]}, to, {}, {}, name + "/requantize" + std::to_string(i));
  }
  return append_layer("", Concat{}, std::move(operands), out, {}, {}, name);
}

// The scale differs from the last tensor's: the importer makes a clamp of a table that only clamps.
Value NetworkMaker::rescaled() {
  Value result = value(current().shape);
  while (result.scale == current().scale) result = value(current().shape);
  return result;
}

TensorId NetworkMaker::activation(const Activation& activation) {
  const Value out = rescaled();
  const std::string function(operation_name(Operation(activation)));
  return append_layer(function, LookupTable{function, table_of(activation, current(), out)},
                      {last()}, out, {}, activation);
}

TensorId NetworkMaker::clipped(std::optional<Activation> activation) {
  const Value out = rescaled();
  ByteTable bytes =
      activation ? table_of(*activation, current(), out) : requantizing_table(current(), out);
  const auto lo = static_cast<std::int32_t>(pick(out.min(), out.min() + 60));
  const auto hi = static_cast<std::int32_t>(pick(out.max() - 60, out.max()));
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(std::clamp(level_of_byte(byte, out.dtype), lo, hi));
  }
  return append_layer("clip", LookupTable{"clip", bytes}, {last()}, out, {}, activation);
}

TensorId NetworkMaker::prelu() {
  PRelu prelu{Tensor(DType::kFloat32, {current().shape.channels})};
  const std::span<float> slopes = prelu.slopes.as<float>();
  for (std::size_t c = 0; c < slopes.size(); ++c) {
    slopes[c] = (static_cast<float>(c) + static_cast<float>(pick(-99, 99)) / 200.0F) / 7.0F;
  }
  return append_layer("prelu", std::move(prelu), {last()}, value(current().shape));
}

TensorId NetworkMaker::requantize() {
  const Value out = rescaled();
  return append_layer("requantize", LookupTable{"requantize", requantizing_table(current(), out)},
                      {last()}, out);
}

TensorId NetworkMaker::relu() { return append_layer("relu", Relu{}, {last()}, current()); }

TensorId NetworkMaker::flatten(Flatten::Order order) {
  Value out = current();
  const ImageShape in = out.shape;
  out.shape = {in.batch, 1, 1, in.height * in.width * in.channels};
  return append_layer("flatten", Flatten{order}, {last()}, out);
}

void NetworkMaker::choose_host() {
  HostInterface& host = graph().host;
  const ImageShape& out = current().shape;
  host.float_input = chance(0.7);
  host.float_output = chance(0.7);
  host.flat_output = out.height == 1 && out.width == 1 && chance(0.8);
  bool pictures = false;
  for (const Layer& layer : graph().layers) {
    const bool reads = std::ranges::find(layer.inputs, graph().input) != layer.inputs.end();
    pictures = pictures || (reads && !std::holds_alternative<FullyConnected>(layer.operation));
  }
  if (pictures && chance(0.3)) host.layout = HostInterface::Layout::kNhwc;
  if (!host.flat_output || chance(0.5)) return;
  host.tail.arg_max = chance(0.5);
  host.tail.arg_max_keeps_axis = host.tail.arg_max && chance(0.5);
  host.tail.softmax = chance(0.5);
  if (!host.tail.softmax) return;
  if (chance(0.5)) {
    host.tail.softmax_levels = Value{{}, DType::kUint8, 0, Scale::power_of_two(-8)};
  } else {
    host.float_output = true;
  }
}

QuantizedNetwork NetworkMaker::finish() {
  use_shifts_where_all_can(network_.graph);
  validate(network_.graph);
  return network_;
}

}  // namespace qsim
