#include "tests/quantize/network/sample_networks.h"

#include <cmath>

namespace qsim::quantize {

SampleNetwork::SampleNetwork(const ImageShape& input, std::uint64_t seed) : random_(seed) {
  graph_.name = "sample";
  graph_.input_value() = real_value(input);
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

TensorId SampleNetwork::append(const std::string& kind, Operation operation,
                               std::vector<TensorId> inputs, const ImageShape& output) {
  return qsim::append(graph_, name(kind), std::move(operation), std::move(inputs),
                      real_value(output));
}

TensorId SampleNetwork::conv(TensorId input, std::int64_t channels, std::int64_t kernel,
                             std::int64_t stride, std::int64_t groups) {
  const ImageShape in = graph_.tensors[input].shape;
  const std::int64_t pad = kernel / 2;
  Conv2d conv;
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
  const ImageShape in = graph_.tensors[input].shape;
  FullyConnected linear;
  linear.weights = normal({channels, in.channels}, 1 / std::sqrt(static_cast<double>(in.channels)));
  linear.bias = normal({channels}, 0.3);
  graph_.host.flat_output = true;
  return append("linear", std::move(linear), {input}, {in.batch, 1, 1, channels});
}

TensorId SampleNetwork::activation(TensorId input, const Activation& activation) {
  return append(std::string(operation_name(Operation{activation})), activation, {input},
                graph_.tensors[input].shape);
}

TensorId SampleNetwork::relu(TensorId input) { return activation(input, {}); }

TensorId SampleNetwork::clip(TensorId input, float lo, float hi) {
  return activation(input, {.kind = Activation::Kind::kClip, .lo = lo, .hi = hi});
}

TensorId SampleNetwork::prelu(TensorId input) {
  const ImageShape& shape = graph_.tensors[input].shape;
  return append("prelu", PRelu{normal({shape.channels}, 0.4)}, {input}, shape);
}

TensorId SampleNetwork::max_pool(TensorId input, std::int64_t kernel) {
  const ImageShape in = graph_.tensors[input].shape;
  MaxPool pool;
  pool.window = {kernel, kernel, kernel, kernel};
  return append("max_pool", pool, {input},
                {in.batch, window_count(in.height, kernel, kernel, 0, 0),
                 window_count(in.width, kernel, kernel, 0, 0), in.channels});
}

TensorId SampleNetwork::average_pool(TensorId input, std::int64_t kernel, bool with_pads) {
  const ImageShape in = graph_.tensors[input].shape;
  AveragePool pool;
  pool.window = {kernel, kernel, kernel, kernel};
  const std::int64_t pad = with_pads ? 1 : 0;
  pool.window.pad_top = pool.window.pad_left = pool.window.pad_bottom = pool.window.pad_right = pad;
  pool.count_include_pad = with_pads;
  return append("average_pool", pool, {input},
                {in.batch, window_count(in.height, kernel, kernel, pad, pad),
                 window_count(in.width, kernel, kernel, pad, pad), in.channels});
}

TensorId SampleNetwork::add(TensorId a, TensorId b) {
  return append("add", Add{}, {a, b}, graph_.tensors[a].shape);
}

TensorId SampleNetwork::concat(std::vector<TensorId> inputs) {
  ImageShape shape = graph_.tensors[inputs[0]].shape;
  shape.channels = 0;
  for (const TensorId input : inputs) shape.channels += graph_.tensors[input].shape.channels;
  return append("concat", Concat{}, std::move(inputs), shape);
}

TensorId SampleNetwork::flatten(TensorId input, Flatten::Order order) {
  const ImageShape in = graph_.tensors[input].shape;
  graph_.host.flat_output = true;
  return append("flatten", Flatten{order}, {input},
                {in.batch, 1, 1, in.height * in.width * in.channels});
}

Conv2d& SampleNetwork::conv_at(std::size_t layer) {
  return std::get<Conv2d>(graph_.layers[layer].operation);
}

namespace {

// Tensors of the network so far that a layer may read: a layer reads the last one, and at times an
// earlier one of the same height and width.
class RandomLayers {
 public:
  explicit RandomLayers(std::uint64_t seed)
      : random_(seed),
        net_({random_.uniform(1, 2), random_.uniform(5, 9), random_.uniform(5, 9),
              random_.uniform(1, 4)},
             seed + 1) {}

  SampleNetwork run() && {
    const std::int64_t layers = random_.uniform(3, 12);
    while (std::ssize(net_.graph().layers) < layers) add();
    if (random_.chance(0.5)) {
      const auto order = random_.chance(0.5) ? Flatten::Order::kChw : Flatten::Order::kHwc;
      net_.linear(net_.relu(net_.linear(net_.flatten(net_.output(), order), 7)), 5);
    }
    return std::move(net_);
  }

 private:
  const ImageShape& shape(TensorId id) { return net_.graph().tensors[id].shape; }

  TensorId partner(bool with_channels) {
    const ImageShape& own = shape(net_.output());
    std::vector<TensorId> found;
    for (TensorId id = 0; id < net_.graph().tensors.size(); ++id) {
      const ImageShape& other = shape(id);
      const bool fits = other.height == own.height && other.width == own.width &&
                        (!with_channels || other.channels == own.channels);
      if (fits) found.push_back(id);
    }
    return found[static_cast<std::size_t>(random_.uniform(0, std::ssize(found) - 1))];
  }

  void add() {
    const TensorId last = net_.output();
    const bool is_large = shape(last).height >= 4 && shape(last).width >= 4;
    switch (random_.uniform(0, 8)) {
      case 0:
      case 1:
        net_.conv(last, random_.uniform(2, 6), random_.chance(0.5) ? 3 : 1,
                  is_large ? random_.uniform(1, 2) : 1);
        return;
      case 2:
        net_.conv(last, shape(last).channels, 3, 1, shape(last).channels);
        return;
      case 3:
        add_relu(last);
        return;
      case 4:
        net_.clip(last, random_.chance(0.5) ? 0.0F : -0.4F, 0.8F);
        return;
      case 5:
        if (is_large) net_.max_pool(last);
        return;
      case 6:
        if (is_large) net_.average_pool(last, 2, random_.chance(0.5));
        return;
      case 7:
        if (random_.chance(0.5)) {
          net_.add(last, partner(true));
        } else {
          net_.concat({last, partner(false)});
        }
        return;
      default:
        add_table(last);
    }
  }

  // Adds a ReLU of the last tensor, or of one that others read too.
  void add_relu(TensorId last) {
    const TensorId read = random_.chance(0.7) ? last : partner(false);
    const TensorId relu = net_.relu(read);
    if (read != last) net_.concat({last, relu});
  }

  void add_table(TensorId last) {
    if (shape(last).channels > 1 && random_.chance(0.3)) {
      net_.prelu(last);
      return;
    }
    using Kind = Activation::Kind;
    const Kind kinds[] = {Kind::kLeakyRelu, Kind::kSigmoid, Kind::kHardSigmoid, Kind::kHardSwish};
    net_.activation(last, {.kind = kinds[random_.uniform(0, 3)], .alpha = 0.25F, .beta = 0.5F});
  }

  Random random_;
  SampleNetwork net_;
};

}  // namespace

SampleNetwork random_network(std::uint64_t seed) { return RandomLayers(seed).run(); }

PlainTensor SampleNetwork::picture() {
  const Tensor values = normal(graph_.input_shape().nhwc(), 1);
  return {graph_.input_shape(), {values.as<float>().begin(), values.as<float>().end()}};
}

SampleNetwork chain() {
  SampleNetwork net(kPicture);
  net.conv(net.relu(net.conv(0, 8)), 4);
  return net;
}

Tensor seeded_input(std::uint64_t seed, const Graph& graph) {
  Tensor input(DType::kFloat32, graph.input_shape().nhwc());
  Random random(seed);
  for (float& value : input.as<float>()) {
    value = static_cast<float>(random.uniform(-1000, 1000)) / 512;
  }
  return input;
}

}  // namespace qsim::quantize
