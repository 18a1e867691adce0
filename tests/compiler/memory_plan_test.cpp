// Where things lie in DRAM: regions apart, aligned, and within what commands address.
#include "compiler/lowering/memory_plan.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::refusal;
using testing::window;

TEST(MemoryPlan, RegionsAreAlignedAndDoNotOverlap) {
  const Graph graph = GraphBuilder(1, picture(1, 9, 7, 3))
                          .conv(20, {2, 3})
                          .conv(33, {1, 4, 1, 1, 0, 1, 0, 1})
                          .flatten()
                          .fully_connected(10)
                          .build();
  const ArchConfig arch;
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  const MemoryPlan plan = plan_memory(layers, arch);
  std::vector<std::pair<std::int64_t, std::int64_t>> regions = {
      {plan.input.tensor.address, plan.input.tensor.size_bytes()}};
  for (const PlannedLayer& l : plan.layers) {
    regions.emplace_back(l.ofmap.address, l.ofmap.size_bytes());
  }
  for (const PlannedLayer& l : plan.layers) {
    regions.emplace_back(l.weights_address, l.weights_bytes);
    regions.emplace_back(l.params_address, l.param_stride * l.geometry.column_blocks);
  }
  std::int64_t end = 0;
  for (const auto& [address, bytes] : regions) {
    EXPECT_EQ(address, end);  // the next 4 KiB line
    EXPECT_GT(bytes, 0);
    end = (address + bytes + 4095) / 4096 * 4096;
  }
  EXPECT_EQ(plan.writable_bytes, plan.layers[0].weights_address);
  EXPECT_EQ(plan.layers[0].weights_bytes, 2 * 6 * 256);      // 2 blocks x 1 plane x 2 x 3 folds
  EXPECT_EQ(plan.layers[1].weights_bytes, 3 * 2 * 4 * 256);  // 3 blocks x 2 planes x 1 x 4
  EXPECT_EQ(plan.layers[1].ifmap.address, plan.layers[0].ofmap.address);
  EXPECT_EQ(plan.layers[2].ifmap.address, plan.layers[1].ofmap.address);
}

// What is refused of a relu and `pools` pools, whose regions have 1 GiB each: the input, then an
// ofmap a layer, of which the first has the relu and a pool.
std::string dram_refusal(int pools) {
  GraphBuilder builder(1, picture(64, 1024, 1024, 16));
  builder.relu();
  for (int i = 0; i < pools; ++i) builder.max_pool(window(1));
  Graph graph = builder.build();
  for (Layer& layer : graph.layers) layer.source = "net.yaml:3:5: layer '" + layer.name + "'";
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  return refusal([&] { plan_memory(layers, ArchConfig{}); }, ExitCode::kUnsupportedModel);
}

TEST(MemoryPlan, WhatEndsBeyondFourGibibytesIsRefusedAtItsPlaceInTheFile) {
  // Three ofmaps end at 2^32 exactly, and leave no room for the first layer's weights.
  EXPECT_EQ(dram_refusal(3),
            "net.yaml:3:5: layer 'relu0' ends at byte 4294971392 of DRAM; commands address "
            "4294967296 bytes");
  EXPECT_EQ(dram_refusal(4),
            "net.yaml:3:5: layer 'pool4' ends at byte 5368709120 of DRAM; commands address "
            "4294967296 bytes");
}

}  // namespace
}  // namespace qsim
