// Networks of more layers, and tensors of more elements, than any has.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/network/graph.h"

namespace qsim {
namespace {

TEST(GraphLimits, OneLayerTooManyIsRefused) {
  Graph graph;
  graph.name = "deep";
  graph.input_value().shape = {1, 1, 1, 4};
  for (std::int64_t i = 0; i < kMaxLayers; ++i) {
    append(graph, "relu" + std::to_string(i), Relu{}, graph.input_value());
  }
  validate(graph);
  append(graph, "last", Relu{}, graph.input_value());
  try {
    validate(graph);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()), "graph 'deep' has " + std::to_string(kMaxLayers + 1) +
                                             " layers; at most " + std::to_string(kMaxLayers) +
                                             " are allowed");
  }
}

TEST(GraphLimits, AnInputBeyondTheLimitOfElementsIsRefused) {
  Graph graph;
  graph.name = "wide";
  graph.input_value().shape = {kMaxTensorElems, 1, 1, 1};
  append(graph, "relu", Relu{}, graph.input_value());
  validate(graph);
  graph.input_value().shape.batch += 1;
  graph.output_of(0) = graph.input_value();
  try {
    validate(graph);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_NE(
        text.find(
            "2147483649 elements, shape [2147483649, 1, 1, 1]; at most 2147483648 are allowed"),
        std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace qsim
