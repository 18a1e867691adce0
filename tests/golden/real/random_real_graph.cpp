#include "tests/golden/real/random_real_graph.h"

#include <cmath>

namespace qsim::golden {
namespace {

Window random_window(Random& random, const ImageShape& input, bool dilates) {
  Window w;
  w.kernel_h = random.uniform(1, std::min<std::int64_t>(4, input.height));
  w.kernel_w = random.uniform(1, std::min<std::int64_t>(4, input.width));
  w.stride_h = random.uniform(1, 3);
  w.stride_w = random.uniform(1, 3);
  if (dilates) {
    w.dilation_h = random.uniform(1, 3);
    w.dilation_w = random.uniform(1, 3);
  }
  w.pad_top = random.uniform(0, w.extent_h() - 1);
  w.pad_left = random.uniform(0, w.extent_w() - 1);
  w.pad_bottom = random.uniform(0, w.extent_h() - 1);
  w.pad_right = random.uniform(0, w.extent_w() - 1);
  // A dilated kernel may be larger than the picture.
  w.pad_top += std::max<std::int64_t>(0, w.extent_h() - input.height - w.pad_top - w.pad_bottom);
  w.pad_left += std::max<std::int64_t>(0, w.extent_w() - input.width - w.pad_left - w.pad_right);
  return w;
}

ImageShape output_shape(const Window& w, const ImageShape& in, std::int64_t channels) {
  return {in.batch, window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
          window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right), channels};
}

Activation random_activation(Random& random) {
  Activation activation;
  activation.kind = static_cast<Activation::Kind>(random.uniform(0, 5));
  activation.alpha = 0.1F * static_cast<float>(random.uniform(1, 4));
  activation.beta = 0.5F;
  if (activation.kind == Activation::Kind::kClip) {
    activation.lo = -0.25F;
    activation.hi = 6;
  }
  return activation;
}

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random_(seed) {
    graph_.name = "random " + std::to_string(seed);
    graph_.input_value() = real_value({random_.uniform(1, 3), random_.uniform(3, 9),
                                       random_.uniform(3, 9), random_.uniform(1, 40)});
  }

  Graph build() {
    const std::int64_t count = random_.uniform(3, 7);
    for (std::int64_t i = 0; i < count; ++i) add_layer();
    const ImageShape shape = last();
    if (random_.chance(0.7)) {
      Flatten flatten;
      if (random_.chance(0.5)) flatten.order = Flatten::Order::kHwc;
      add(flatten, {shape.batch, 1, 1, shape.height * shape.width * shape.channels});
      add_linear();
    }
    return graph_;
  }

 private:
  const ImageShape& last() const { return graph_.output_shape(); }

  void add(Operation operation, const ImageShape& output) {
    append(graph_, name(), std::move(operation), real_value(output));
  }
  std::string name() const { return "layer" + std::to_string(graph_.layers.size()); }

  void add_layer() {
    const std::int64_t kind = random_.uniform(0, 6);
    if (kind <= 1) return add_conv();
    if (kind == 2) return add_pool();
    if (kind == 3 && random_.chance(0.25)) return add_prelu();
    if (kind == 3) return add(random_activation(random_), last());
    if (kind == 4) return add_sum();
    if (kind == 5) return add_concat();
    add_depthwise();
  }

  void add_prelu() {
    const std::int64_t slopes = random_.chance(0.2) ? 1 : last().channels;
    add(PRelu{random_floats(random_, {slopes})}, last());
  }

  void add_conv() {
    const std::int64_t groups = last().channels % 3 == 0 ? 3 : last().channels % 2 == 0 ? 2 : 1;
    const std::int64_t used = random_.chance(0.4) ? groups : 1;
    RandomConv conv = random_conv(random_, last(), used * random_.uniform(1, 40 / used), used);
    add(std::move(conv.conv), conv.output);
  }

  void add_depthwise() {
    const std::int64_t outputs = last().channels * (random_.chance(0.3) ? 2 : 1);
    RandomConv conv = random_conv(random_, last(), outputs, last().channels);
    add(std::move(conv.conv), conv.output);
  }

  void add_pool() {
    const bool is_max = random_.chance(0.5);
    const Window w = random_window(random_, last(), false);
    const ImageShape output = output_shape(w, last(), last().channels);
    if (is_max) return add(MaxPool{w}, output);
    add(AveragePool{w, random_.chance(0.5)}, output);
  }

  // Of the last tensor and one of its shape that was there before, or itself.
  void add_sum() {
    TensorId other = graph_.output;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].shape == last() && random_.chance(0.5)) other = id;
    }
    append(graph_, name(), Add{}, {graph_.output, other}, real_value(last()));
  }

  void add_concat() {
    std::vector<TensorId> operands = {graph_.output};
    ImageShape output = last();
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const ImageShape& shape = graph_.tensors[id].shape;
      const bool fits = shape.height == output.height && shape.width == output.width;
      if (!fits || shape.channels + output.channels > 120 || random_.chance(0.3)) continue;
      operands.push_back(id);
      output.channels += shape.channels;
    }
    if (operands.size() > 1) append(graph_, name(), Concat{}, operands, real_value(output));
  }

  void add_linear() {
    const std::int64_t outputs = random_.uniform(1, 70);
    FullyConnected linear;
    linear.weights = random_floats(random_, {outputs, last().channels});
    linear.bias = random_floats(random_, {outputs});
    add(std::move(linear), {last().batch, 1, 1, outputs});
  }

  Random random_;
  Graph graph_;
};

}  // namespace

float random_float(Random& random) {
  const std::int64_t kind = random.uniform(0, 19);
  if (kind == 0) return 0.0F;
  if (kind == 1) return -0.0F;
  const float value = static_cast<float>(random.uniform(-8'000'000, 8'000'000)) / 4'000'000.0F;
  if (kind == 2) return value * 0x1p-130F;
  return kind < 6 ? std::ldexp(value, static_cast<int>(random.uniform(-20, 12))) : value;
}

Tensor random_floats(Random& random, Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) value = random_float(random);
  return tensor;
}

RandomConv random_conv(Random& random, const ImageShape& input, std::int64_t outputs,
                       std::int64_t groups) {
  RandomConv result;
  Conv2d& conv = result.conv;
  conv.window = random_window(random, input, random.chance(0.4));
  conv.groups = groups;
  conv.weights = random_floats(
      random, {outputs, conv.window.kernel_h, conv.window.kernel_w, input.channels / groups});
  conv.bias = random_floats(random, {outputs});
  result.output = output_shape(conv.window, input, outputs);
  return result;
}

Graph random_real_graph(std::uint64_t seed) {
  for (;; seed += 1'000'003) {
    Graph graph = Builder(seed).build();
    if (!graph.layers.empty()) return graph;
  }
}

Graph single_layer(const ImageShape& input, Operation operation, const ImageShape& output) {
  Graph graph;
  graph.name = "single";
  graph.input_value() = real_value(input);
  append(graph, "layer", std::move(operation), real_value(output));
  return graph;
}

}  // namespace qsim::golden
