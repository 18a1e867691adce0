// Which graphs are in order, who reads each tensor, and until when.
#include "core/network/graph_order.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

using testing::refusal;

constexpr std::size_t kLayers = 6;

Value value() { return {{1, 4, 4, 3}, DType::kInt8, 0, std::nullopt}; }

// relu0 to relu5, each of which reads the one before.
Graph chain() {
  Graph graph;
  graph.name = "chain";
  graph.input_value() = value();
  for (std::size_t i = 0; i < kLayers; ++i) {
    append(graph, "relu" + std::to_string(i), Relu{}, value());
  }
  return graph;
}

TEST(GraphOrder, AppendedLayersAreAChain) {
  const Graph graph = chain();
  EXPECT_EQ(refusal(graph), "");
  EXPECT_TRUE(is_chain(graph));
  EXPECT_EQ(graph.tensors.size(), kLayers + 1);
  EXPECT_EQ(graph.output, graph.layers.back().output);
  for (std::size_t i = 1; i < kLayers; ++i) {
    EXPECT_EQ(graph.layers[i].inputs, std::vector<TensorId>{graph.layers[i - 1].output});
  }
}

TEST(GraphOrder, ATensorIsReadAfterItIsWritten) {
  Graph graph = chain();
  graph.layers[1].inputs = {graph.layers[3].output};
  EXPECT_EQ(refusal(graph),
            "layer 'relu1': reads the output of layer 'relu3', which is not before it; put it "
            "after the layers that it reads");
  graph.layers[1].inputs = {graph.layers[1].output};
  EXPECT_EQ(refusal(graph),
            "layer 'relu1': reads the output of layer 'relu1', which is not before it; put it "
            "after the layers that it reads");
}

TEST(GraphOrder, EveryOutputButTheLastIsRead) {
  Graph graph = chain();
  graph.layers[4].inputs = {graph.input};  // nobody reads relu3
  graph.layers[4].source = "net.yaml:9:5: layer 'relu4'";
  graph.layers[3].source = "net.yaml:8:5: layer 'relu3'";
  EXPECT_EQ(refusal(graph),
            "net.yaml:8:5: layer 'relu3': no layer reads its output; only the last layer's output "
            "is the network's");
}

TEST(GraphOrder, ALayerHasAsManyInputsAsItsOperationHasOperands) {
  Graph graph = chain();
  graph.layers[2].inputs = {graph.input, graph.layers[1].output};
  EXPECT_EQ(refusal(graph), "layer 'relu2': reads 2 tensors; relu reads 1");
  graph.layers[2].inputs.clear();
  EXPECT_EQ(refusal(graph), "layer 'relu2': reads 0 tensors; relu reads 1");
}

TEST(GraphOrder, IdsThatNoFileCanGiveAreBugs) {
  Graph graph = chain();
  graph.layers[2].inputs = {kLayers + 1};
  EXPECT_THROW(check_order(graph), InternalError) << "a tensor that is not there";
  graph = chain();
  graph.layers[2].output = graph.layers[1].output;
  EXPECT_THROW(check_order(graph), InternalError) << "two layers write one tensor";
  graph = chain();
  graph.layers[2].output = graph.input;
  EXPECT_THROW(check_order(graph), InternalError) << "a layer writes the input";
  graph = chain();
  graph.tensors.push_back(value());
  EXPECT_THROW(check_order(graph), InternalError) << "a tensor that nobody writes";
  graph = chain();
  graph.output = graph.layers[2].output;
  EXPECT_THROW(check_order(graph), InternalError) << "another output than the last layer's";
}

// relu1, relu2 and relu4 read relu0; relu3 reads relu2; relu5 reads the input twice.
Graph branches() {
  Graph graph = chain();
  const TensorId shared = graph.layers[0].output;
  graph.layers[2].inputs = {shared};
  graph.layers[4].inputs = {shared};
  graph.layers[5].inputs = {graph.input, graph.input};
  return graph;
}

TEST(GraphOrder, ReadersAreListedOnceInOrder) {
  const Graph graph = branches();
  EXPECT_FALSE(is_chain(graph));
  const auto readers = readers_of_tensors(graph);
  using List = std::vector<std::size_t>;
  EXPECT_EQ(readers[graph.input], (List{0, 5}));
  EXPECT_EQ(readers[graph.layers[0].output], (List{1, 2, 4}));
  EXPECT_EQ(readers[graph.layers[1].output], List{});
  EXPECT_EQ(readers[graph.layers[2].output], List{3});
}

}  // namespace
}  // namespace qsim
