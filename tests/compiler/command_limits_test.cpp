// What the compiler takes for the largest window, tile and run is what the fields of the commands
// hold. A limit that is written down a second time fails here when the command table changes.
#include <string>

#include <gtest/gtest.h>

#include "compiler/lowering/loop_nest.h"
#include "compiler/passes/passes.h"
#include "core/machine/isa/command_fields.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::refusal;

constexpr std::int64_t kKernelH = max_of<Execute>("kernel_h");
constexpr std::int64_t kKernelW = max_of<Execute>("kernel_w");
constexpr std::int64_t kStrideH = max_of<Execute>("stride_h");
constexpr std::int64_t kStrideW = max_of<Execute>("stride_w");

std::string refused(const Window& window) {
  const Graph graph = GraphBuilder(1, picture(1, 70, 70, 3)).conv(5, window).build();
  return refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
}

std::string beyond(const std::string& what, std::int64_t limit) {
  return "layer 'conv0': " + what + " is " + std::to_string(limit + 1) +
         "; the accelerator supports up to " + std::to_string(limit);
}

TEST(CommandLimits, WindowsAreAsLargeAsTheFieldsOfExecuteHold) {
  const Graph largest = GraphBuilder(1, picture(1, 50, 50, 3))
                            .conv(5, {kKernelH, kKernelW, kStrideH, kStrideW})
                            .build();
  EXPECT_NO_THROW(fuse_layers(largest));
  // Longer kernels run tap by tap, as far as the origin's fields reach.
  constexpr std::int64_t kReach = max_of<Execute>("origin_row");
  EXPECT_NO_THROW(
      fuse_layers(GraphBuilder(1, picture(1, kReach, 1, 3)).conv(5, {kReach, 1}).build()));
  EXPECT_EQ(refused({kReach + 1, 1}), beyond("height of window and padding", kReach));
  EXPECT_EQ(refused({1, kReach + 1}), beyond("width of window and padding", kReach));
  EXPECT_EQ(refused({1, 1, kStrideH + 1, 1}), beyond("vertical stride", kStrideH));
  EXPECT_EQ(refused({1, 1, 1, kStrideW + 1}), beyond("horizontal stride", kStrideW));
}

// Memories far larger than what one command can count.
ArchConfig roomy_arch() {
  ArchConfig arch;
  arch.array_rows = arch.array_cols = 4;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 4096;
  arch.accumulator_kib = 1024;
  arch.output_scratchpad_kib = 256;
  arch.dram_latency_cycles = 10000;
  arch.outstanding_bursts = 256;
  return arch;
}

LayerGeometry planes_of_one_pixel(std::int64_t planes) {
  LayerGeometry g;
  g.planes = planes;
  g.window = Window{1, 1};
  return g;
}

std::size_t weight_chunks(std::int64_t planes) {
  const LayerGeometry g = planes_of_one_pixel(planes);
  Mapping mapping;
  mapping.act_planes = mapping.weight_folds = mapping.first_weight_folds = planes;
  return LoopNest(g, mapping).reduction_of_group(0).weights.size();
}

TEST(CommandLimits, AnExecuteHasAsManyPlanesAsItsFieldHolds) {
  EXPECT_EQ(weight_chunks(max_of<Execute>("planes")), 1u);
  EXPECT_EQ(weight_chunks(max_of<Execute>("planes") + 1), 2u);
}

// The field that is at fault; "" for a valid mapping.
std::string fault_in(const LayerGeometry& g, const Mapping& mapping, const ArchConfig& arch) {
  const auto fault = find_fault(g, mapping, arch);
  return fault ? std::string(fault->field) : "";
}

TEST(CommandLimits, ALoadHasAsManyChannelBlocksAsItsGroups) {
  const std::int64_t groups = max_of<Load>("groups");
  const LayerGeometry g = planes_of_one_pixel(2 * groups);
  Mapping mapping;
  mapping.act_planes = groups;
  EXPECT_EQ(fault_in(g, mapping, roomy_arch()), "");
  mapping.act_planes = groups + 1;
  EXPECT_EQ(fault_in(g, mapping, roomy_arch()), "act_planes");
}

TEST(CommandLimits, ARunHasAsManyBytesAsItsFieldHolds) {
  ArchConfig arch = roomy_arch();
  arch.array_rows = arch.array_cols = 256;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 65536;
  arch.weight_slots = 2;
  const std::int64_t words = max_of<Load>("run_bytes") / arch.array_rows;
  ASSERT_LT(words, arch.act_slot_words());
  LayerGeometry g = planes_of_one_pixel(600);
  g.in_rows = g.in_cols = 15;
  g.window = Window{15, 15};
  Mapping mapping;
  mapping.act_kernel_rows = 15;
  mapping.act_planes = words / (15 * 15);
  EXPECT_EQ(fault_in(g, mapping, arch), "");
  ++mapping.act_planes;
  EXPECT_EQ(fault_in(g, mapping, arch), "act_planes");
}

// A picture of one column, twice as long as a tile can be.
TEST(CommandLimits, ATileIsAsLongAsTheFieldsOfItsCommandsHold) {
  const std::int64_t rows = max_of<Execute>("out_rows");
  const Graph graph = GraphBuilder(1, picture(1, 2 * rows, 1, 4)).conv(160, {}).build();
  const ArchConfig arch = roomy_arch();
  const LayerGeometry g = layer_geometry(fuse_layers(graph)[0], arch);
  Mapping mapping;
  mapping.act_planes = g.granule_planes;
  mapping.tile_rows = rows;
  EXPECT_EQ(fault_in(g, mapping, arch), "");
  ++mapping.tile_rows;
  EXPECT_EQ(fault_in(g, mapping, arch), "tile_rows");
}

}  // namespace
}  // namespace qsim
