// Weights that are packed are given back, and the program is the one of lower().
#include "compiler/lower_and_free.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/lowering/lower.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Whole pages of `bytes`, and how many of them are in memory.
struct Pages {
  std::size_t all = 0, resident = 0;
};

Pages pages_of(std::span<std::byte> bytes) {
  const std::size_t page = page_bytes();
  const std::size_t lead = (page - reinterpret_cast<std::uintptr_t>(bytes.data()) % page) % page;
  Pages pages;
  for (std::size_t at = lead; at + page <= bytes.size(); at += page) {
    unsigned char in_memory = 0;
    EXPECT_EQ(mincore(bytes.data() + at, page, &in_memory), 0);
    pages.resident += in_memory & 1;
    ++pages.all;
  }
  return pages;
}

TEST(LowerAndFreeWeights, NoWholePageOfWeightsIsLeftWhateverThePieces) {
  const ArchConfig arch = small_arch(4, 4);
  GraphBuilder builder(11, picture(1, 6, 5, 65, 3));
  Graph graph = builder.conv(70, window(3, 1, 1)).flatten().fully_connected(40).build();
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  place_concats(layers, arch);
  MemoryPlan plan = plan_memory(layers, arch);
  for (PlannedLayer& planned : plan.layers) planned.mapping.blocks = 1;
  std::size_t shortest = SIZE_MAX, pieces = 0;
  const Program expected = lower(graph.name, plan, arch, [&](const SpentWeights& spent) {
    shortest = std::min(shortest, spent.end - spent.begin);
    ++pieces;
  });
  ASSERT_LT(shortest, page_bytes());
  ASSERT_GT(pieces, 20u);

  const std::span<std::byte> conv = std::get<Conv2d>(graph.layers[0].operation).weights.bytes;
  const std::span<std::byte> fc = std::get<FullyConnected>(graph.layers[2].operation).weights.bytes;
  for (const std::span<std::byte> weights : {conv, fc}) {
    const Pages before = pages_of(weights);
    ASSERT_GT(before.all, 8u);
    ASSERT_EQ(before.resident, before.all);
  }
  const Program program = lower_and_free_weights(graph, plan, arch);
  for (const std::span<std::byte> weights : {conv, fc}) EXPECT_EQ(pages_of(weights).resident, 0u);
  ASSERT_EQ(program.segments.size(), expected.segments.size());
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    EXPECT_EQ(program.segments[i].bytes, expected.segments[i].bytes) << i;
  }
}

}  // namespace
}  // namespace qsim
