// A quantized graph in fake quantization is golden's bytes where float32 is exact, and the float
// network of its scales with each tensor rounded otherwise.
#include "golden/graph/real/fake_graph.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/network/float_rules.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/real/real_executor.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden {
namespace {

using golden_test::random_dag;
using golden_test::random_tensor;

Scale lower_power_of_two(const Scale& scale) {
  return Scale::power_of_two(static_cast<int>(std::floor(std::log2(scale.real()))));
}

const std::array kActivations = {
    Activation{.kind = Activation::Kind::kRelu}, Activation{Activation::Kind::kLeakyRelu, 0.1f},
    Activation{Activation::Kind::kHardSwish}, Activation{Activation::Kind::kSigmoid}};

// Tables of known functions.
void set_tables(Graph& graph, Random& random) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    auto* table = std::get_if<LookupTable>(&graph.layers[i].operation);
    if (table == nullptr) continue;
    const auto which = static_cast<std::size_t>(random.uniform(0, std::ssize(kActivations) - 1));
    table->bytes = table_of(kActivations[which], graph.input_of(i), graph.output_of(i));
  }
}

// Every scale a power of two, so that float32 holds each product, sum and quotient.
void make_exact(Graph& graph) {
  for (Value& value : graph.tensors) value.scale = lower_power_of_two(*value.scale);
  const auto make_power = [](Requantization& requantization) {
    requantization.rounding = RoundingMode::kHalfEven;
    for (Requantizer& r : requantization.requantizers) r.multiplier = kLeastMultiplier;
  };
  for (Layer& layer : graph.layers) {
    if (auto* conv = std::get_if<Conv2d>(&layer.operation)) make_power(conv->requantization);
    if (auto* fc = std::get_if<FullyConnected>(&layer.operation)) make_power(fc->requantization);
  }
}

Tensor real_of(const Tensor& levels, const Value& value) {
  Tensor real(DType::kFloat32, levels.shape);
  for (std::size_t i = 0; i < real.as<float>().size(); ++i) {
    const int level =
        value.is_unsigned() ? int{levels.as<std::uint8_t>()[i]} : int{levels.as<std::int8_t>()[i]};
    real.as<float>()[i] = static_cast<float>(level - value.zero_point) * value.scale->real();
  }
  return real;
}

Tensor fake_output(const Graph& graph, const Tensor& input) {
  const FakeGraph fake = fake_graph(graph);
  ThreadTeam team(1);
  return RealExecutor(fake.graph, {.rules = fake.rules})
      .run(real_of(input, graph.input_value()), team);
}

bool has_average_pool(const Graph& graph) {
  for (const Layer& layer : graph.layers) {
    if (std::holds_alternative<AveragePool>(layer.operation)) return true;
  }
  return false;
}

TEST(FakeGraph, IsGoldenWhereEveryScaleIsAPowerOfTwo) {
  Random random(1);
  golden_test::DagOptions options;
  options.operations.roundings = {RequantizerRounding::kHalfEven};
  options.operations.wide_psums = false;  // up to 2^24
  int compared = 0;
  std::int64_t other_bytes = 0;
  for (int i = 0; i < 900; ++i) {
    Graph graph = random_dag(random, options);
    if (has_average_pool(graph)) continue;  // it divides by a count
    make_exact(graph);
    set_tables(graph, random);
    validate(graph);
    const Value& input_value = graph.input_value();
    const Tensor input = random_tensor(random, input_value.dtype, input_value.shape.nhwc());
    const Tensor expected = real_of(GraphExecutor(graph).run(input).back(), graph.output_value());
    const Tensor found = fake_output(graph, input);
    ASSERT_EQ(found.shape, expected.shape);
    const auto levels = expected.as<float>();
    for (std::size_t at = 0; at < levels.size(); ++at) {
      ASSERT_EQ(found.as<float>()[at], levels[at]) << "graph " << i << " at " << at;
      other_bytes += levels[at] == levels[0] ? 0 : 1;
    }
    ++compared;
  }
  EXPECT_GE(compared, 100);
  EXPECT_GT(other_bytes, 10'000) << "outputs that say something";
}

// In one layer, float32 rounds twice where golden rounds once, so a tie may go another way.
TEST(FakeGraph, IsWithinOneLevelOfGoldenInOneLayerOfAnyScale) {
  Random random(2);
  std::int64_t outputs = 0;
  std::int64_t differing = 0;
  const std::array makers = {golden_test::random_grouped_conv2d,
                             golden_test::random_scaled_fully_connected,
                             golden_test::random_average_pool};
  for (int i = 0; i < 150; ++i) {
    Graph graph = makers[static_cast<std::size_t>(i) % makers.size()](random);
    const auto* conv = std::get_if<Conv2d>(&graph.layers[0].operation);
    const auto* fc = std::get_if<FullyConnected>(&graph.layers[0].operation);
    const auto rounding = requantizer_rounding(graph.layers[0].operation);
    const bool is_nearest = rounding && *rounding != RequantizerRounding::kFloor;
    if (!is_nearest) continue;
    if (conv != nullptr && conv->requantization.requantizers.empty()) continue;
    if (fc != nullptr && fc->requantization.requantizers.empty()) continue;
    const Value& value = graph.input_value();
    const Tensor input = random_tensor(random, value.dtype, value.shape.nhwc());
    const Tensor expected = real_of(GraphExecutor(graph).run(input).back(), graph.output_value());
    const Tensor found = fake_output(graph, input);
    const float scale = graph.output_value().scale->real();
    for (std::size_t at = 0; at < expected.as<float>().size(); ++at) {
      const float apart = std::abs(found.as<float>()[at] - expected.as<float>()[at]) / scale;
      ASSERT_LT(apart, 1.5f) << "graph " << i << " at " << at;
      differing += apart > 0.5f ? 1 : 0;
      ++outputs;
    }
  }
  EXPECT_GT(outputs, 20'000);
  EXPECT_LT(differing, outputs / 100);
}

TEST(FakeGraph, IsGoldenInAPRelu) {
  for (std::uint64_t seed = 500; seed < 550; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Graph graph = golden_test::random_prelu(random);
    const Value& value = graph.input_value();
    const Tensor input = random_tensor(random, value.dtype, value.shape.nhwc());
    ASSERT_EQ(fake_output(graph, input),
              real_of(GraphExecutor(graph).run(input).back(), graph.output_value()));
  }
}

TEST(FakeGraph, RefusesATableThatIsNoneOfItsFunctions) {
  Random random(3);
  Graph graph;
  graph.input_value() = golden_test::random_scaled_value(random, {1, 2, 2, 3});
  append(graph, "odd", golden_test::random_lookup_table(random),
         golden_test::random_scaled_value(random, {1, 2, 2, 3}));
  try {
    fake_graph(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_NE(std::string(error.what()).find("'odd': its table (random) is none of the functions"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace qsim::golden
