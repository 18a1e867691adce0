#include "tests/quantize/network/sample_networks.h"

#include <cmath>

namespace qsim::quantize {

SampleNetwork::SampleNetwork(const ImageShape& input, std::uint64_t seed) : random_(seed) {
  graph_.name = "sample";
  graph_.tensors[0] = input;
  graph_.host.layout = HostInterface::Layout::kNchw;
  graph_.host.float_input = true;
  graph_.host.float_output = true;
}

// Sums of twelve uniform numbers.
Tensor SampleNetwork::normal(const Shape& shape, double deviation) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.as<float>()) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_.next() >> 11) * 0x1.0p-53;
    value = static_cast<float>(sum * deviation);
  }
  return tensor;
}

std::string SampleNetwork::name(const std::string& kind) {
  return kind + std::to_string(graph_.layers.size());
}

TensorId SampleNetwork::append(const std::string& kind, RealOperation operation,
                               std::vector<TensorId> inputs, const ImageShape& output) {
  return qsim::append(graph_, name(kind), std::move(operation), std::move(inputs), output);
}

TensorId SampleNetwork::conv(TensorId input, std::int64_t channels, std::int64_t kernel,
                             std::int64_t stride, std::int64_t groups) {
  const ImageShape in = graph_.tensors[input];
  const std::int64_t pad = kernel / 2;
  RealConv2d conv;
  conv.window = {kernel, kernel, stride, stride, pad, pad, pad, pad, 1, 1};
  conv.groups = groups;
  const std::int64_t each = in.channels / groups;
  conv.weights = normal({channels, kernel, kernel, each},
                        1 / std::sqrt(static_cast<double>(kernel * kernel * each)));
  conv.bias = normal({channels}, 0.3);
  return append("conv", std::move(conv), {input},
                {in.batch, window_count(in.height, kernel, stride, pad, pad),
                 window_count(in.width, kernel, stride, pad, pad), channels});
}

TensorId SampleNetwork::linear(TensorId input, std::int64_t channels) {
  const ImageShape in = graph_.tensors[input];
  RealLinear linear;
  linear.weights = normal({channels, in.channels}, 1 / std::sqrt(static_cast<double>(in.channels)));
  linear.bias = normal({channels}, 0.3);
  graph_.host.flat_output = true;
  return append("linear", std::move(linear), {input}, {in.batch, 1, 1, channels});
}

TensorId SampleNetwork::activation(TensorId input, const RealActivation& activation) {
  return append(std::string(operation_name(RealOperation{activation})), activation, {input},
                graph_.tensors[input]);
}

TensorId SampleNetwork::relu(TensorId input) { return activation(input, {}); }

TensorId SampleNetwork::clip(TensorId input, float lo, float hi) {
  return activation(input, {.kind = RealActivation::Kind::kClip, .lo = lo, .hi = hi});
}

TensorId SampleNetwork::max_pool(TensorId input, std::int64_t kernel) {
  const ImageShape in = graph_.tensors[input];
  RealMaxPool pool;
  pool.window = {kernel, kernel, kernel, kernel};
  return append("max_pool", pool, {input},
                {in.batch, window_count(in.height, kernel, kernel, 0, 0),
                 window_count(in.width, kernel, kernel, 0, 0), in.channels});
}

TensorId SampleNetwork::average_pool(TensorId input, std::int64_t kernel, bool with_pads) {
  const ImageShape in = graph_.tensors[input];
  RealAveragePool pool;
  pool.window = {kernel, kernel, kernel, kernel};
  const std::int64_t pad = with_pads ? 1 : 0;
  pool.window.pad_top = pool.window.pad_left = pool.window.pad_bottom = pool.window.pad_right = pad;
  pool.count_include_pad = with_pads;
  return append("average_pool", pool, {input},
                {in.batch, window_count(in.height, kernel, kernel, pad, pad),
                 window_count(in.width, kernel, kernel, pad, pad), in.channels});
}

TensorId SampleNetwork::add(TensorId a, TensorId b) {
  return append("add", RealAdd{}, {a, b}, graph_.tensors[a]);
}

TensorId SampleNetwork::concat(std::vector<TensorId> inputs) {
  ImageShape shape = graph_.tensors[inputs[0]];
  shape.channels = 0;
  for (const TensorId input : inputs) shape.channels += graph_.tensors[input].channels;
  return append("concat", RealConcat{}, std::move(inputs), shape);
}

TensorId SampleNetwork::flatten(TensorId input, Flatten::Order order) {
  const ImageShape in = graph_.tensors[input];
  graph_.host.flat_output = true;
  return append("flatten", RealFlatten{order}, {input},
                {in.batch, 1, 1, in.height * in.width * in.channels});
}

RealConv2d& SampleNetwork::conv_at(std::size_t layer) {
  return std::get<RealConv2d>(graph_.layers[layer].operation);
}

PlainTensor SampleNetwork::picture() {
  const Tensor values = normal(graph_.input_shape().nhwc(), 1);
  return {graph_.input_shape(), {values.as<float>().begin(), values.as<float>().end()}};
}

}  // namespace qsim::quantize
