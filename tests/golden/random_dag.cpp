#include "tests/golden/random_dag.h"

#include <algorithm>
#include <string>

#include "tests/golden/random_graph.h"

namespace qsim::golden_test {
namespace {

constexpr std::int64_t kMostMacs = 300'000;  // of a layer: the plain loops take a millisecond

class DagMaker {
 public:
  DagMaker(Random& random, const DagOptions& options) : random_(random), options_(options) {
    const auto side = [&] { return random.uniform(1, options.most_pixels); };
    graph_.name = "dag";
    graph_.input_value() = random_scaled_value(
        random, {random.uniform(1, options.most_batch), side(), side(),
                 random.uniform(1, random.chance(0.5) ? 6 : options.most_channels)});
    unread_ = {graph_.input};
  }

  Graph make() {
    const std::int64_t steps = random_.uniform(1, options_.most_steps);
    for (std::int64_t i = 0; i < steps; ++i) step(any_tensor());
    if (graph_.layers.empty()) convolution(graph_.input);
    while (unread_.size() > 1) join(unread_[0], unread_[1]);
    if (random_.chance(0.4)) classifier();
    validate(graph_);
    return std::move(graph_);
  }

 private:
  const Value& value(TensorId id) const { return graph_.tensors[id]; }

  // Tensors of late layers more often, so that graphs are deep, and tensors that nobody reads.
  TensorId any_tensor() {
    if (random_.chance(0.5)) {
      return unread_[static_cast<std::size_t>(random_.uniform(0, std::ssize(unread_) - 1))];
    }
    return static_cast<TensorId>(random_.uniform(0, std::ssize(graph_.tensors) - 1));
  }

  TensorId add_layer(Operation operation, std::vector<TensorId> inputs, const Value& output) {
    for (const TensorId input : inputs) std::erase(unread_, input);
    const std::string name =
        std::string(operation_name(operation)) + std::to_string(graph_.layers.size());
    const TensorId id = append(graph_, name, std::move(operation), std::move(inputs), output);
    unread_.push_back(id);
    return id;
  }

  void step(TensorId x) {
    // Concatenations that read concatenations would double the channels each time.
    const bool is_deep = value(x).shape.channels > 2 * options_.most_channels;
    switch (random_.uniform(0, is_deep ? 7 : 9)) {
      case 0:
      case 1:
      case 2:
        convolution(x);
        return;
      case 3:
        max_pool(x);
        return;
      case 4:
        average_pool(x, false);
        return;
      case 5:
        add_layer(Relu{}, {x}, value(x));
        return;
      case 6:
        if (options_.operations.prelu && random_.chance(0.5)) {
          const Value output = random_scaled_value(random_, value(x).shape);
          add_layer(random_prelu_of(random_, output.shape.channels), {x}, output);
          return;
        }
        add_layer(random_lookup_table(random_), {x}, random_scaled_value(random_, value(x).shape));
        return;
      case 7:
        addition(x, peer(x));
        return;
      case 8:
        addition(x, branch(x));
        return;
      default:
        concatenation({x, random_.chance(0.5) ? peer(x) : branch(x)});
    }
  }

  void convolution(TensorId x) {
    const Value& input = value(x);
    const Window window = random_window(random_, input.shape, 5, false, true);
    const std::int64_t channels = input.shape.channels;
    const std::int64_t groups = random_groups(channels);
    ImageShape shape = windowed(input.shape, window, groups);
    const std::int64_t macs = shape.batch * shape.height * shape.width * window.kernel_h *
                              window.kernel_w * channels;  // of one output channel in each group
    const std::int64_t most = std::clamp<std::int64_t>(
        std::min(kMostMacs / macs, options_.most_channels / groups), 1, options_.most_channels);
    shape.channels = groups * random_.uniform(1, most);
    const Value output = random_scaled_value(random_, shape);
    add_layer(random_conv2d_of(random_, window, groups, input, output, options_.operations), {x},
              output);
  }

  // One, as many as channels, or another divisor.
  std::int64_t random_groups(std::int64_t channels) {
    if (random_.chance(0.5)) return 1;
    if (random_.chance(0.5)) return channels;
    std::int64_t groups = random_.uniform(1, channels);
    while (channels % groups != 0) --groups;
    return groups;
  }

  void max_pool(TensorId x) {
    Value output = value(x);
    const Window window = random_window(random_, output.shape, 4, true, true);
    output.shape = windowed(output.shape, window, output.shape.channels, random_.chance(0.5));
    add_layer(MaxPool{window}, {x}, output);
  }

  TensorId average_pool(TensorId x, bool global) {
    const ImageShape shape = value(x).shape;
    const Window window = global ? Window{.kernel_h = shape.height, .kernel_w = shape.width}
                                 : random_window(random_, shape, 4, true, false);
    Value output =
        random_scaled_value(random_, windowed(shape, window, shape.channels, random_.chance(0.5)));
    output.scale =
        Scale::of(value(x).scale->real() *
                  (random_.chance(0.3) ? 1.0F : 1.0F / static_cast<float>(random_.uniform(1, 9))));
    return add_layer(random_average_pool_of(random_, window, output, options_.operations), {x},
                     output);
  }

  // A tensor of x's shape, or of x's picture: x itself where there is no other.
  TensorId peer(TensorId x) {
    std::vector<TensorId> peers;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (id != x && value(id).shape == value(x).shape) peers.push_back(id);
    }
    if (peers.empty()) return x;
    return peers[static_cast<std::size_t>(random_.uniform(0, std::ssize(peers) - 1))];
  }

  // A convolution of x that keeps its shape, as residual blocks have it.
  TensorId branch(TensorId x) {
    const Value& input = value(x);
    const std::int64_t channels = input.shape.channels;
    const bool is_costly =
        element_count(input.shape.nhwc()) * channels * 9 > kMostMacs || random_.chance(0.3);
    const Window same{3, 3, 1, 1, 1, 1, 1, 1};
    const Value output = random_scaled_value(random_, input.shape);
    return add_layer(random_conv2d_of(random_, same, is_costly ? channels : 1, input, output,
                                      options_.operations),
                     {x}, output);
  }

  // The tensor, or a table of it that has a scale of ordinary size: sums of sums grow.
  TensorId of_ordinary_scale(TensorId x) {
    const float scale = value(x).scale->real();
    if (scale >= 0x1p-6F && scale <= 1.0F) return x;
    return add_layer(random_lookup_table(random_), {x},
                     random_scaled_value(random_, value(x).shape));
  }

  void addition(TensorId a, TensorId b) {
    const bool is_square = a == b;
    a = of_ordinary_scale(a);
    b = is_square ? a : of_ordinary_scale(b);
    const std::vector<TensorId> operands =
        random_.chance(0.5) ? std::vector<TensorId>{a, b} : std::vector<TensorId>{b, a};
    Value output = random_scaled_value(random_, value(a).shape);
    const float sum = value(a).scale->real() + value(b).scale->real();
    // Equal scales and ratios of small integers bring many sums to ties.
    output.scale = Scale::of(
        random_.chance(0.4) ? value(a).scale->real() * static_cast<float>(random_.uniform(1, 4))
                            : sum * static_cast<float>(random_.uniform(30, 90)) / 100.0F);
    add_layer(random_add_of(random_, output, options_.operations), operands, output);
  }

  // Operands that are quantized otherwise than the output get a table.
  void concatenation(std::vector<TensorId> operands) {
    while (random_.chance(0.3)) operands.push_back(operands[0]);
    const bool kept = random_.chance(0.5);
    Value output = kept ? value(operands[0]) : random_scaled_value(random_, {});
    output.shape = value(operands[0]).shape;
    output.shape.channels = 0;
    for (TensorId& operand : operands) {
      Value same = output;
      same.shape = value(operand).shape;
      if (!(value(operand) == same)) {
        operand = add_layer(random_lookup_table(random_), {operand}, same);
      }
      output.shape.channels += same.shape.channels;
    }
    add_layer(Concat{}, operands, output);
  }

  // Joins two tensors that nobody reads, or pools them so that they can be joined.
  void join(TensorId a, TensorId b) {
    const ImageShape& first = value(a).shape;
    const ImageShape& second = value(b).shape;
    if (first == second && random_.chance(0.6)) return addition(a, b);
    if (first.height == second.height && first.width == second.width) {
      return concatenation({a, b});
    }
    for (const TensorId id : {a, b}) {
      if (value(id).shape.height > 1 || value(id).shape.width > 1) average_pool(id, true);
    }
  }

  void classifier() {
    Value flat = graph_.output_value();
    flat.shape = {flat.shape.batch, 1, 1,
                  flat.shape.height * flat.shape.width * flat.shape.channels};
    const auto order = random_.chance(0.5) ? Flatten::Order::kChw : Flatten::Order::kHwc;
    const TensorId x = add_layer(Flatten{order}, {graph_.output}, flat);
    const Value output =
        random_scaled_value(random_, {flat.shape.batch, 1, 1, random_.uniform(1, 20)});
    add_layer(random_fully_connected_of(random_, flat, output, options_.operations), {x}, output);
  }

  Random& random_;
  const DagOptions& options_;
  Graph graph_;
  std::vector<TensorId> unread_;
};

}  // namespace

Graph random_dag(Random& random, const DagOptions& options) {
  return DagMaker(random, options).make();
}

}  // namespace qsim::golden_test
