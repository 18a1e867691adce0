// What the schedule decides for speed's sake: nothing here changes a byte, so no run of a program
// would show it.
#include "compiler/lowering/schedule.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

TEST(TokenSemaphores, AllBeginAtZero) {
  const auto semaphores = token_semaphores();
  const std::vector<std::string> names = {
      "act_ready", "act_free", "weight_ready", "weight_free", "param_ready", "param_free",
      "acc_ready", "acc_free", "out_ready",    "out_free",    "ofmap_done"};
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    EXPECT_EQ(semaphores[s].name, s < names.size() ? names[s] : "");
    EXPECT_EQ(semaphores[s].initial, 0) << semaphores[s].name;
  }
}

// The parts of a memory follow one another and go round; they are as large as the mapping asks.
TEST(Schedule, SlotsAndHalvesGoRound) {
  const Graph graph = GraphBuilder(15, picture(1, 40, 40, 16)).conv(64, window(3, 1, 1)).build();
  const ArchConfig arch;
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  Mapping mapping;
  mapping.tile_rows = 10;
  mapping.tile_cols = 40;
  mapping.act_kernel_rows = 3;
  mapping.weight_folds = mapping.first_weight_folds = 9;
  mapping.acts_resident = true;
  CompileOptions options;
  options.mappings.push_back({layers[0].name, mapping, {}, {}});
  const PlannedLayer planned = plan_memory(layers, arch, options).layers[0];
  const MemoryParts parts = memory_parts(planned.geometry, planned.mapping, arch);
  EXPECT_EQ(parts.output_words, planned.mapping.tile_rows * planned.mapping.tile_cols);
  EXPECT_EQ(parts.weight_slot_words, 9 * 16);
  const Program program = compile(graph, arch, options);
  const CommandStream posts = program.stream(Unit::kPost);
  ASSERT_GE(posts.size(), 4u);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const auto post = posts.fields<Post>(i);
    EXPECT_EQ(post.acc_half, i % 2);
    EXPECT_EQ(post.param_slot, i % 2);
    EXPECT_EQ(post.out_addr, static_cast<std::int64_t>(i) % 2 * parts.output_words);
  }
  std::int64_t weights = 0;
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    const auto& load = std::get<Load>(instruction.command.fields);
    if (load.memory != static_cast<std::uint32_t>(LoadMemory::kWeight)) continue;
    EXPECT_EQ(load.local_addr, weights++ % 4 * parts.weight_slot_words);
  }
}

// Memory that is taken for commands is neither too little nor too much: random layers on two
// arrays, with one and with several tiles, blocks, chunks, pictures.
TEST(Schedule, StreamsAreReservedForJustTheCommandsThatTheyGet) {
  std::size_t commands = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    ArchConfig arch;
    if (seed % 2 == 0) arch = shrink_memories(arch, random);
    const Program program = compile(make_random_layer(seed, arch).graph, arch);
    for (const CommandStream& stream : program.streams.all()) {
      EXPECT_EQ(stream.capacity(), stream.size()) << "seed " << seed;
    }
    commands += program.command_count();
  }
  EXPECT_GE(commands, 6000u);
}

// An origin for every group of psums, which a POST takes, and few of them twice.
TEST(Schedule, CommandsOfAGroupShareItsOrigin) {
  const ArchConfig arch = load_arch_config("configs/pe4x4.yaml");
  const Program program = compile(load_workload("models/workloads/vgg8.yaml").graph, arch);
  const std::size_t groups = program.stream(Unit::kPost).size();
  EXPECT_GE(program.command_count(), 5 * groups);
  EXPECT_GE(program.streams.origin_count(), groups);
  EXPECT_LE(program.streams.origin_count(), groups + groups / 100);
}

}  // namespace
}  // namespace qsim
