// 20,000 random graphs with branches: the optimised path against the plain loops at every layer,
// for every instruction set that this processor has.
#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden {
namespace {

constexpr std::uint64_t kFirstSeed = 1'000'000;
constexpr std::uint64_t kGraphs = 20'000;

TEST(Branches, TwentyThousandRandomGraphsAgreeOnEveryInstructionSet) {
  std::int64_t layers = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    golden_test::DagOptions options;
    options.operations.prelu = true;
    options.operations.add_tflite_roundings();
    const Graph graph = golden_test::random_dag(random, options);
    const Tensor input = golden_test::random_tensor(random, graph.input_value().dtype,
                                                    graph.input_value().shape.nhwc());
    const std::vector<Tensor> expected = run_graph(graph, input, Path::kPlain);
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      const auto found = run_graph(graph, input, ExecutorOptions{.vector_path = path});
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(found[i], expected[i]) << vector_path_name(path) << ": " << graph.layers[i].name;
      }
    }
    layers += std::ssize(graph.layers);
  }
  EXPECT_GT(layers, 5 * static_cast<std::int64_t>(kGraphs));
  RecordProperty("layers", std::to_string(layers));
}

}  // namespace
}  // namespace qsim::golden
