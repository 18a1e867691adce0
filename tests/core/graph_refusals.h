// Graphs that are refused: a valid one with one change each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim::testing {

// What validate() says of the graph; "" where it takes it.
template <typename Graph>
std::string refusal(const Graph& graph) {
  try {
    validate(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

template <typename Graph>
struct Breakage {
  std::string expected;
  std::function<void(Graph&)> apply;
};

template <typename Graph>
void expect_refusals(const Graph& valid, const std::vector<Breakage<Graph>>& breakages) {
  for (const Breakage<Graph>& breakage : breakages) {
    Graph graph = valid;
    breakage.apply(graph);
    EXPECT_EQ(refusal(graph), breakage.expected);
  }
}

}  // namespace qsim::testing
