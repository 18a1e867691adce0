// That the numbers of the steps give the layers' bytes: a graph made of the steps is run by
// golden/graph/cpu against the graph itself. Needs no GPU.
#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/layer_plan.h"
#include "tests/golden/cuda/network_builder.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden::cuda {
namespace {

using golden_test::NetworkBuilder;
using golden_test::square;

// The steps as a graph: every step one convolution with the step's numbers (and a pool or an
// addition), or its data layer. Where bytes are read in another shape there is a flatten that moves
// none.
class StepGraph {
 public:
  StepGraph(const Graph& graph, const std::vector<Step>& steps) : tensors_(graph.tensors.size()) {
    graph_.name = "steps";
    graph_.input_value() = graph.input_value();
    tensors_[graph.input] = graph_.input;
    for (const Step& step : steps) {
      TensorId made = append_step(graph, step, read_as(tensors_[step.inputs[0]], step.input));
      made = read_as(made, step.result);
      tensors_[step.output] = made;
      last_layers_.push_back(graph_.layers.size() - 1);
    }
  }

  const Graph& graph() const { return graph_; }
  std::size_t last_layer(std::size_t step) const { return last_layers_[step]; }

 private:
  TensorId append(Operation operation, std::vector<TensorId> inputs, const Value& output) {
    return qsim::append(graph_, std::to_string(graph_.layers.size()), std::move(operation),
                        std::move(inputs), output);
  }

  TensorId read_as(TensorId tensor, const Value& value) {
    if (graph_.tensors[tensor].shape == value.shape) return tensor;
    return append(Flatten{Flatten::Order::kHwc}, {tensor}, value);
  }

  TensorId append_step(const Graph& graph, const Step& step, TensorId input) {
    const Value& made = graph.output_of(step.first());
    switch (step.kind) {
      case StepKind::kConv:
        return append_conv(graph, step, input);
      case StepKind::kMaxPool:
        return append(MaxPool{step.window}, {input}, made);
      case StepKind::kRelu:
        return append(Relu{}, {input}, step.input);
      case StepKind::kFlatten:
        return append(Flatten{step.order}, {input}, made);
      case StepKind::kAveragePool:
        return append(step.average, {input}, made);
      case StepKind::kAdd:
        return append(step.add, {input, tensors_[step.inputs[1]]}, made);
      case StepKind::kConcat:
      case StepKind::kPRelu:
      case StepKind::kLookupTable: {
        std::vector<TensorId> inputs;
        for (const TensorId id : step.inputs) inputs.push_back(tensors_[id]);
        return append(graph.layers[step.first()].operation, inputs, made);
      }
    }
    throw InternalError("a step of no kind");
  }

  // The parts of wide weights, added up again.
  static Tensor weights(const Graph& graph, const Step& step, const Shape& shape) {
    const auto parts = weights_of(graph, step);
    if (step.weight_parts == 1) return make_tensor<std::int8_t>(shape, parts);
    Tensor whole(DType::kInt16, shape);
    const auto depth = static_cast<std::size_t>(element_count(shape) / shape[0]);
    const auto count = static_cast<std::size_t>(step.weight_parts);
    const auto sums = whole.as<std::int16_t>();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t part = 0; part < count; ++part) {
        sums[i] += parts[(i / depth * count + part) * depth + i % depth];
      }
    }
    return whole;
  }

  TensorId append_conv(const Graph& graph, const Step& step, TensorId input) {
    const std::int64_t channels = step.ofmap.shape.channels;
    const Window& w = step.window;
    const Shape shape{channels, w.kernel_h, w.kernel_w, step.input.shape.channels / step.groups};
    const TensorId made = append(Conv2d{w, weights(graph, step, shape),
                                        make_tensor<std::int32_t>({channels}, bias_of(graph, step)),
                                        step.requantization, step.groups},
                                 {input}, step.ofmap);
    if (step.addition) {
      const TensorId other = tensors_[step.inputs[1]];
      const bool first = step.addition->other_is_first;
      return append(step.addition->add, {first ? other : made, first ? made : other},
                    step.addition->sum);
    }
    if (!step.pool) return made;
    Value pooled = step.ofmap;
    pooled.shape.height /= 2;
    pooled.shape.width /= 2;
    return append(MaxPool{square(2, 2)}, {made}, pooled);
  }

  Graph graph_;
  std::vector<TensorId> tensors_;  // by tensor of the graph, the one with its bytes
  std::vector<std::size_t> last_layers_;
};

// Anything may follow anything.
Graph random_network(Random& random) {
  const auto side = [&] {
    return random.chance(0.7) ? 2 * random.uniform(1, 5) : random.uniform(1, 9);
  };
  const ImageShape shape{random.uniform(1, 2), side(), side(), random.uniform(1, 6)};
  NetworkBuilder builder(random, golden_test::random_quantization(random, shape));
  const std::int64_t layers = random.uniform(1, 7);
  for (std::int64_t i = 0; i < layers; ++i) {
    const ImageShape now = builder.shape();
    const bool flat = now.height == 1 && now.width == 1;
    const std::int64_t kind = random.uniform(0, 10);
    if (kind <= 2) {
      builder.conv2d(random.uniform(1, 6), random.chance(0.5) ? square(3, 1, 1) : square(1));
    } else if (kind <= 4) {
      builder.relu();
    } else if (kind <= 7 && now.height >= 2 && now.width >= 2) {
      builder.max_pool(square(2, 2), random.chance(0.3));
    } else if (kind == 8) {
      builder.flatten(random.chance(0.7) ? Flatten::Order::kChw : Flatten::Order::kHwc);
    } else {
      if (!flat) builder.flatten(random.chance(0.7) ? Flatten::Order::kChw : Flatten::Order::kHwc);
      builder.fully_connected(random.uniform(1, 12));
    }
  }
  return builder.build();
}

struct Seen {
  int fused = 0;
  int pooled = 0;
  int own_weights = 0;
  int added = 0;
  int wide = 0;
};

// Runs the steps of `graph` as a graph; every layer is in one step, and every step's bytes are its
// last layer's.
void compare_steps(const Graph& graph, const Tensor& input, Seen& seen) {
  const std::vector<Tensor> expected = run_graph(graph, input, Path::kPlain);
  for (const CudaKeep keep : {CudaKeep::kEvery, CudaKeep::kStored}) {
    const std::vector<Step> steps = plan_layers(graph, keep);
    const StepGraph equivalent(graph, steps);
    const std::vector<Tensor> ofmaps = run_graph(equivalent.graph(), input);
    std::vector<int> times(graph.layers.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_EQ(ofmaps[equivalent.last_layer(i)], expected[steps[i].last()])
          << layer_names(graph, steps[i]);
      for (const std::size_t layer : steps[i].layers) ++times[layer];
      seen.fused += steps[i].layers.size() > 1 ? 1 : 0;
      seen.pooled += steps[i].pool ? 1 : 0;
      seen.own_weights += steps[i].own_weights.empty() ? 0 : 1;
      seen.added += steps[i].addition ? 1 : 0;
      seen.wide += steps[i].weight_parts > 1 ? 1 : 0;
    }
    ASSERT_EQ(times, std::vector<int>(graph.layers.size(), 1));
  }
}

TEST(LayerPlan, TheStepsOfRandomNetworksGiveTheBytesOfTheirLayers) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Graph graph = random_network(random);
    const Tensor input = golden_test::random_tensor(random, graph.input_value().dtype,
                                                    graph.input_value().shape.nhwc());
    compare_steps(graph, input, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(seen.fused, 500);
  EXPECT_GE(seen.pooled, 100);
  EXPECT_GE(seen.own_weights, 100);
}

TEST(LayerPlan, TheStepsOfRandomGraphsGiveTheBytesOfTheirLayers) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    golden_test::DagOptions options;
    options.operations.prelu = true;
    const Graph graph = golden_test::random_dag(random, options);
    const Tensor input = golden_test::random_tensor(random, graph.input_value().dtype,
                                                    graph.input_value().shape.nhwc());
    compare_steps(graph, input, seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(seen.fused, 300);
  EXPECT_GE(seen.added, 50);
  EXPECT_GE(seen.wide, 50);
}

}  // namespace
}  // namespace qsim::golden::cuda
