// That the numbers of the steps give the layers' bytes: a graph made of the steps is run by
// golden/cpu against the graph itself. Needs no GPU.
#include <gtest/gtest.h>

#include "golden/cpu/graph_executor.h"
#include "golden/cuda/layer_plan.h"
#include "tests/golden/cuda/network_builder.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden::cuda {
namespace {

using golden_test::NetworkBuilder;
using golden_test::square;

// The steps as a graph: every step one convolution with the step's numbers (and a pool), or its
// data layer. Where bytes are read under another shape stands a flatten that moves none.
class StepGraph {
 public:
  StepGraph(const Graph& graph, const std::vector<Step>& steps) {
    graph_.name = "steps";
    graph_.input_value() = graph.input_value();
    for (const Step& step : steps) {
      read_as(step.input);
      append_step(graph, step);
      read_as(step.output);
      last_layers_.push_back(graph_.layers.size() - 1);
    }
  }

  const Graph& graph() const { return graph_; }
  std::size_t last_layer(std::size_t step) const { return last_layers_[step]; }

 private:
  void append(Operation operation, const Value& output) {
    qsim::append(graph_, std::to_string(graph_.layers.size()), std::move(operation), output);
  }

  void read_as(const Value& value) {
    const Value& current = graph_.layers.empty() ? graph_.input_value() : graph_.output_value();
    if (!(current.shape == value.shape)) append(Flatten{Flatten::Order::kHwc}, value);
  }

  void append_step(const Graph& graph, const Step& step) {
    switch (step.kind) {
      case StepKind::kConv:
        append_conv(graph, step);
        break;
      case StepKind::kMaxPool: {
        Value output = graph.output_of(step.first);
        append(MaxPool{step.window}, output);
        break;
      }
      case StepKind::kRelu:
        append(Relu{}, step.input);
        break;
      case StepKind::kFlatten:
        append(Flatten{step.order}, graph.output_of(step.first));
        break;
    }
  }

  void append_conv(const Graph& graph, const Step& step) {
    const std::int64_t channels = step.ofmap.shape.channels;
    append(Conv2d{step.window,
                  make_tensor<std::int8_t>({channels, step.window.kernel_h, step.window.kernel_w,
                                            step.input.shape.channels},
                                           weights_of(graph, step)),
                  make_tensor<std::int32_t>({channels}, bias_of(graph, step)), step.requantization},
           step.ofmap);
    if (!step.pool) return;
    Value pooled = step.ofmap;
    pooled.shape.height /= 2;
    pooled.shape.width /= 2;
    append(MaxPool{square(2, 2)}, pooled);
  }

  Graph graph_;
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

TEST(LayerPlan, TheStepsOfRandomNetworksGiveTheBytesOfTheirLayers) {
  int fused = 0;
  int pooled = 0;
  int permuted = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Graph graph = random_network(random);
    const Tensor input = golden_test::random_tensor(random, graph.input_value().dtype,
                                                    graph.input_value().shape.nhwc());
    const std::vector<Tensor> expected = run_graph(graph, input, Path::kPlain);
    for (const CudaKeep keep : {CudaKeep::kEvery, CudaKeep::kStored}) {
      const std::vector<Step> steps = plan_layers(graph, keep);
      const StepGraph equivalent(graph, steps);
      const std::vector<Tensor> ofmaps = run_graph(equivalent.graph(), input);
      std::size_t next = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(steps[i].first, next);
        ASSERT_EQ(ofmaps[equivalent.last_layer(i)], expected[steps[i].last])
            << layer_names(graph, steps[i]);
        next = steps[i].last + 1;
        fused += steps[i].first != steps[i].last ? 1 : 0;
        pooled += steps[i].pool ? 1 : 0;
        permuted += steps[i].permuted_weights.empty() ? 0 : 1;
      }
      ASSERT_EQ(next, graph.layers.size());
    }
  }
  EXPECT_GE(fused, 500);
  EXPECT_GE(pooled, 100);
  EXPECT_GE(permuted, 100);
}

}  // namespace
}  // namespace qsim::golden::cuda
