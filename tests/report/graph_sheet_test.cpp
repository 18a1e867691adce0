// What `inspect` says of a network with branches and scales.
#include "report/graph_sheet.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace report;
namespace {

Value picture(std::int64_t channels = 4) {
  return {{1, 6, 6, channels}, DType::kInt8, 0, Scale::of(0.1F)};
}

Graph chain() {
  Graph graph;
  graph.name = "net";
  graph.input_value() = picture();
  Conv2d conv{.window = {3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
              .weights = Tensor(DType::kInt8, {4, 3, 3, 1}),
              .bias = Tensor(DType::kInt32, {4}),
              .requantization = {.shifts = {}, .requantizers = {}},
              .groups = 4};
  for (const float scale : {0.02F, 0.003F, 0.5F, 0.1F}) {
    conv.requantization.requantizers.push_back(
        requantizer_of(*Scale::of(scale), RequantizerRounding::kFloat32));
  }
  append(graph, "depthwise", conv, picture());
  return graph;
}

std::string text(const SheetTable& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] == column) return cell_text(table.rows[row][i]);
  }
  return "no column " + column;
}

TEST(GraphSheet, AChainHasNoColumnOfInputs) {
  const Sheet sheet = graph_sheet(chain());
  const SheetTable& table = sheet.tables[0];
  EXPECT_EQ(text(table, 0, "inputs"), "no column inputs");
  EXPECT_EQ(text(table, 0, "window"), "3x3 s1 p2 d2 g4");
  EXPECT_EQ(text(table, 0, "shift"), "scale 0.003..0.5/channel");
  EXPECT_EQ(text(table, 0, "rounding"), "float32");
  EXPECT_EQ(text(table, 0, "weights"), "36");
}

TEST(GraphSheet, BranchesAreListedByTheNamesOfWhatTheyRead) {
  Graph graph = chain();
  append(graph, "pool", AveragePool{.window = {3, 3, 1, 1, 1, 1, 1, 1}}, {graph.input}, picture());
  append(graph, "sum", Add{.rounding = RequantizerRounding::kHalfEven}, {1, 2}, picture());
  append(graph, "both", Concat{}, {graph.input, 3}, picture(8));
  validate(graph);
  const Sheet sheet = graph_sheet(graph);
  const SheetTable& table = sheet.tables[0];
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(text(table, 0, "inputs"), "input");
  EXPECT_EQ(text(table, 1, "inputs"), "input");
  EXPECT_EQ(text(table, 2, "inputs"), "depthwise, pool");
  EXPECT_EQ(text(table, 3, "inputs"), "input, sum");
  EXPECT_EQ(text(table, 1, "window"), "3x3 s1 p1");
  EXPECT_EQ(text(table, 1, "rounding"), "float32");
  EXPECT_EQ(text(table, 2, "rounding"), "half_even");
  EXPECT_EQ(text(table, 3, "shift"), "-");
}

}  // namespace
}  // namespace qsim
