// Which mappings are valid, what is said of the others, and that memory beyond a mapping's needs
// changes no command.
#include "compiler/lowering/mapping.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "formats/workload/random_layer.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/random_mapping.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

// 20 x 20 psums of 48 channels, 4 planes, 3 x 3, on pe16x16: halves of 512 words.
Graph small_graph() {
  Graph graph = GraphBuilder(1, picture(2, 20, 20, 64)).conv(48, window(3, 1, 1)).build();
  graph.layers[0].name = "conv";
  return graph;
}

Mapping valid() {
  return {.tile_rows = 5,
          .tile_cols = 20,
          .act_planes = 4,
          .act_kernel_rows = 3,
          .weight_folds = 36,
          .first_weight_folds = 9,
          .act_slots = 2,
          .weight_slots = 4};
}

std::string fault_of(const Mapping& mapping, const ArchConfig& arch = {}) {
  const Graph graph = small_graph();
  const FusedLayer layer = fuse_layers(graph)[0];
  const auto fault = find_fault(layer_geometry(layer, arch), mapping, arch);
  return fault ? fault_text(*fault) : "";
}

template <typename Change>
std::string fault_with(Change change) {
  Mapping mapping = valid();
  change(mapping);
  return fault_of(mapping);
}

TEST(Mapping, AFaultNamesFieldValueAndWhatIsAllowed) {
  using M = Mapping;
  EXPECT_EQ(fault_of(valid()), "");
  EXPECT_EQ(fault_with([](M& m) { m.tile_rows = 21; }),
            "tile_rows is 21; 1 to 20 is allowed (the ofmap's rows)");
  EXPECT_EQ(fault_with([](M& m) { m.tile_cols = 0; }),
            "tile_cols is 0; 1 to 20 is allowed (the ofmap's columns)");
  EXPECT_EQ(fault_with([](M& m) { m.tiles_per_half = 6; }),
            "tiles_per_half is 6, which needs 600 words of an accumulator half; 512 are there");
  EXPECT_EQ(fault_with([](M& m) { m.halves_per_pass = 3; }),
            "halves_per_pass is 3; 1 to 2 is allowed (the accumulator's halves)");
  EXPECT_EQ(fault_with([](M& m) { m.blocks = 2; }),
            "blocks is 2; 1 to 1 is allowed (more than 1 for input_stationary alone)");
  EXPECT_EQ(
      fault_with([](M& m) {
        m.dataflow = Dataflow::kInputStationary;
        m.blocks = 4;
      }),
      "blocks is 4; 1 to 3 is allowed (the layer's column blocks, and at most what an EXECUTE "
      "counts)");
  EXPECT_EQ(fault_with([](M& m) { m.act_planes = 5; }),
            "act_planes is 5; 1 to 4 is allowed (the planes of a channel block of DRAM, up to all "
            "of a column block)");
  EXPECT_EQ(fault_with([](M& m) { m.act_kernel_rows = 4; }),
            "act_kernel_rows is 4; 1 to 3 is allowed (the kernel's rows)");
  EXPECT_EQ(fault_with([](M& m) { m.weight_folds = 0; }),
            "weight_folds is 0; 1 to 65535 is allowed (the bytes of one run of a LOAD)");
  EXPECT_EQ(fault_with([](M& m) { m.first_weight_folds = 37; }),
            "first_weight_folds is 37; 1 to 36 is allowed (weight_folds)");
  EXPECT_EQ(fault_with([](M& m) { m.act_slots = 16; }),
            "act_slots is 16; 0 to 15 is allowed (the tokens that a semaphore counts)");
  EXPECT_EQ(
      fault_with([](M& m) {
        m.tile_rows = 20;
        m.act_slots = 15;
      }),
      "act_slots is 15, which needs 24000 words of the activation scratchpad; 16384 are there");
  EXPECT_EQ(fault_with([](M& m) { m.weight_slots = 8; }),
            "weight_slots is 8, which needs 4608 words of the weight scratchpad; 4096 are there");
}

// Four column blocks, two of each group: they share channels, and yet each loads its own.
TEST(Mapping, AFaultOfALayerWithGroupsSaysSo) {
  Graph graph = GraphBuilder(1, picture(1, 8, 8, 64)).conv(64, window(3, 1, 1), 9, 2).build();
  const ArchConfig arch;
  const LayerGeometry geometry = layer_geometry(fuse_layers(graph)[0], arch);
  Mapping mapping = {.tile_rows = 2,
                     .tile_cols = 8,
                     .act_planes = 2,
                     .act_kernel_rows = 3,
                     .weight_folds = 18,
                     .first_weight_folds = 18};
  EXPECT_FALSE(find_fault(geometry, mapping, arch));
  mapping.acts_resident = true;
  EXPECT_EQ(
      fault_text(find_fault(geometry, mapping, arch).value()),
      "acts_resident is true; allowed is false: a layer with groups, or without weights, loads "
      "activations for each column block");
  mapping.acts_resident = false;
  mapping.dataflow = Dataflow::kInputStationary;
  EXPECT_FALSE(find_fault(geometry, mapping, arch));
  mapping.blocks = 2;
  EXPECT_EQ(fault_text(find_fault(geometry, mapping, arch).value()),
            "blocks is 2; 1 to 1 is allowed (a layer with groups, or without weights, takes one "
            "column block at a time)");
}

TEST(Mapping, ChunksThatAreInUseAtOnceNeedASlotEach) {
  using M = Mapping;
  const std::string acts =
      "activation slots, one for each chunk that is in use at once; 2 are there";
  EXPECT_EQ(fault_with([](M& m) {
              m.acts_resident = true;
              m.act_planes = 1;
            }),
            "act_slots is 2, which needs 4 " + acts);
  EXPECT_EQ(fault_with([](M& m) {
              m.acts_resident = true;
              m.order = LoopOrder::kBlocksOuter;
            }),
            "act_slots is 2, which needs 8 " + acts);
  // Not resident, but each chunk is used for several weight chunks.
  EXPECT_EQ(fault_with([](M& m) {
              m.tiles_per_half = 3;
              m.weight_folds = m.first_weight_folds = 9;
            }),
            "act_slots is 2, which needs 3 " + acts);
  EXPECT_EQ(fault_with([](M& m) {
              m.tiles_per_half = 3;
              m.first_weight_folds = 36;
            }),
            "");
  EXPECT_EQ(fault_with([](M& m) { m.weights_resident = true; }), "");
  EXPECT_EQ(fault_with([](M& m) {
              m.weights_resident = true;
              m.weight_folds = m.first_weight_folds = 9;
              m.order = LoopOrder::kBlocksOuter;
            }),
            "");
  EXPECT_EQ(fault_with([](M& m) {
              m.weights_resident = true;
              m.weight_folds = m.first_weight_folds = 9;
            }),
            "weight_slots is 4, which needs 12 weight slots, one for each chunk that is in use at "
            "once; 4 are there");
}

TEST(Mapping, AGivenMappingThatDoesNotFitIsRefusedAtItsPlace) {
  LayerMapping given{"conv", valid(), "m.yaml:6:11", {}};
  given.mapping.tile_rows = 21;
  given.field_places.assign(mapping_fields().size(), "m.yaml:8:16");
  const auto compile_with = [&] { compile(small_graph(), ArchConfig{}, {{given}, {}}); };
  EXPECT_EQ(testing::refusal(compile_with, ExitCode::kBadInput),
            "m.yaml:8:16: the mapping does not fit layer 'conv': tile_rows is 21; 1 to 20 is "
            "allowed (the ofmap's rows)");
  given.field_places.clear();
  given.layer = "cnv";
  EXPECT_EQ(testing::refusal(compile_with, ExitCode::kBadInput),
            "m.yaml:6:11: the program has no layer 'cnv'; did you mean 'conv'?");
}

// Larger memories keep a mapping valid and its commands equal, except for the numbers of words
// that the accumulator's halves have.
TEST(Mapping, LargerMemoriesChangeNoCommand) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed);
    ArchConfig arch;
    arch.array_rows = 8;
    arch.array_cols = seed % 2 == 0 ? 8 : 4;
    arch = shrink_memories(arch, random);
    const Graph graph = make_random_layer(seed, arch).graph;
    std::vector<FusedLayer> layers = fuse_layers(graph);
    fold_first_layer_taps(layers, arch);
    std::vector<LayerMapping> given;
    for (const PlannedLayer& planned : plan_memory(layers, arch).layers) {
      const Mapping mapping =
          testing::random_mapping(planned.geometry, arch, planned.mapping, random);
      given.push_back({planned.layer->name, mapping, {}, {}});
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    ArchConfig larger = arch;
    for (auto member : {&ArchConfig::act_scratchpad_kib, &ArchConfig::weight_scratchpad_kib,
                        &ArchConfig::accumulator_kib, &ArchConfig::output_scratchpad_kib}) {
      if (random.chance(0.7)) larger.*member *= 2;
    }
    const Program small = compile(graph, arch, {given, {}});
    const Program large = compile(graph, larger, {given, {}});
    EXPECT_EQ(small.streams, large.streams);
    compared += static_cast<int>(small.layers.size());
  }
  EXPECT_GE(compared, 120);
}

}  // namespace
}  // namespace qsim
