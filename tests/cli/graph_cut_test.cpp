// `--layers` on networks with branches: a part that can be cut computes what the whole network
// computes there, and any other is refused by name.
#include "cli/session/run/graph_cut.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim {

using namespace cli;
namespace {

Value picture() { return {{1, 4, 4, 2}, DType::kInt8, 0, Scale::of(0.1F)}; }

// stem -> left -> right, and stem + right -> sum -> tail -> tail_relu.
Model residual() {
  Model model;
  Graph& graph = model.graph;
  graph.name = "residual";
  graph.input_value() = picture();
  const LookupTable table{"any"};
  const TensorId stem = append(graph, "stem", table, picture());
  append(graph, "left", table, picture());
  const TensorId right = append(graph, "right", table, picture());
  append(graph, "sum", Add{}, {stem, right}, picture());
  append(graph, "tail", table, picture());
  append(graph, "tail_relu", Relu{}, picture());
  return model;
}

std::vector<std::string> names_after_cut(const std::string& pattern) {
  Model model = residual();
  const Tensor input(DType::kInt8, {1, 4, 4, 2});
  EXPECT_EQ(cut_layers(model, input, pattern, nullptr).shape, input.shape);
  validate(model.graph);
  std::vector<std::string> names;
  for (const Layer& layer : model.graph.layers) names.push_back(layer.name);
  return names;
}

std::string refusal(const std::string& pattern) {
  Model model = residual();
  try {
    cut_layers(model, Tensor(DType::kInt8, {1, 4, 4, 2}), pattern, nullptr);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(GraphCut, APartOfABranchOrABlockIsANetworkOfItsOwn) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_after_cut("left"), (Names{"left"}));
  EXPECT_EQ(names_after_cut("[lr]*"), (Names{"left", "right"}));
  EXPECT_EQ(names_after_cut("[lrs][eiu]*"), (Names{"left", "right", "sum"}));
  EXPECT_EQ(names_after_cut("tail"), (Names{"tail", "tail_relu"}));
  EXPECT_EQ(names_after_cut("*"), (Names{"stem", "left", "right", "sum", "tail", "tail_relu"}));
}

TEST(GraphCut, APartThatReadsTwoTensorsIsRefused) {
  EXPECT_EQ(refusal("sum"),
            "--layers 'sum': the part from 'sum' to 'sum' reads 2 tensors, stem, right; a part "
            "reads one: take in more layers, or fewer");
}

TEST(GraphCut, APartWithASecondOutputIsRefused) {
  Model model = residual();
  // fork reads stem, beside left: a part from left to fork would have two outputs.
  Graph& graph = model.graph;
  append(graph, "fork", LookupTable{"any"}, {1}, picture());
  append(graph, "join", Add{}, {6, 7}, picture());
  std::swap(graph.layers[2], graph.layers[6]);  // left, fork, sum, tail, tail_relu, right
  std::rotate(graph.layers.begin() + 3, graph.layers.begin() + 6, graph.layers.begin() + 7);
  validate(graph);
  try {
    cut_layers(model, Tensor(DType::kInt8, {1, 4, 4, 2}), "[lf]*", nullptr);
    FAIL() << "no refusal";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--layers '[lf]*': only 'right', after the part, reads 'left'; take in the one, "
                 "or leave out the other");
  }
}

// Cuts all parts of one to four layers of random graphs that can be cut.
TEST(GraphCut, APartComputesWhatTheWholeNetworkComputesThere) {
  constexpr std::uint64_t kFirstSeed = 800;
  GoldenSelection golden("--golden", "cpu", [](const std::string&) {});
  int cut = 0;
  int refused = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Graph graph = golden_test::random_dag(random);
    const Tensor input = golden_test::random_tensor(random, graph.input_value().dtype,
                                                    graph.input_value().shape.nhwc());
    const std::vector<Tensor> whole = golden::run_graph(graph, input);
    for (std::size_t first = 0; first < graph.layers.size(); ++first) {
      Model model;
      model.graph = graph;
      model.recorded = whole;
      const std::size_t last =
          std::min(first + static_cast<std::size_t>(random.uniform(0, 3)), graph.layers.size() - 1);
      for (std::size_t i = 0; i < graph.layers.size(); ++i) {
        model.graph.layers[i].name = (i == first || i == last ? "x" : "") + std::to_string(i);
      }
      try {
        const Tensor part_input = cut_layers(model, input, "x*", &golden);
        validate(model.graph);
        ASSERT_EQ(golden::run_graph(model.graph, part_input), model.recorded) << "from " << first;
        ++cut;
      } catch (const Error& error) {
        ASSERT_NE(std::string(error.what()).find("the part"), std::string::npos) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(cut, 100);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace qsim
