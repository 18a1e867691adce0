// What the schedule decides for speed's sake: nothing here changes a byte, so no run of a program
// would show it.
#include "compiler/lowering/schedule.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/workload/random_layer.h"
#include "compiler/workload/workload.h"
#include "files/arch_config_file.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

TEST(TokenSemaphores, BeginWithATokenForEverySlotAndHalf) {
  ArchConfig arch;
  arch.act_slots = 3;
  arch.weight_slots = 5;
  const auto semaphores = token_semaphores(arch);
  const std::vector<std::pair<std::string, int>> expected = {
      {"act_ready", 0},   {"act_free", 3},   {"weight_ready", 0}, {"weight_free", 5},
      {"param_ready", 0}, {"param_free", 2}, {"acc_ready", 0},    {"acc_free", 2},
      {"out_ready", 0},   {"out_free", 2},   {"ofmap_done", 0}};
  for (std::size_t s = 0; s < expected.size(); ++s) {
    EXPECT_EQ(semaphores[s].name, expected[s].first);
    EXPECT_EQ(semaphores[s].initial, expected[s].second) << semaphores[s].name;
  }
}

// LOADs of weights of layer 1 in front of its first LOAD of activations.
std::int64_t early_weights(const Program& program) {
  std::int64_t early = 0;
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    if (instruction.origin.layer != 1) continue;
    const auto memory = static_cast<LoadMemory>(std::get<Load>(instruction.command.fields).memory);
    if (memory == LoadMemory::kActivation) return early;
    if (memory == LoadMemory::kWeight) ++early;
  }
  return -1;
}

TEST(Schedule, WhereTheArrayIsBusyLongOneLoadOfWeightsGoesBeforeTheOfmapIsDone) {
  const Graph graph = GraphBuilder(13, picture(1, 16, 16, 16))
                          .conv(16, window(3, 1, 1))
                          .conv(160, window(3, 1, 1))
                          .build();
  EXPECT_EQ(early_weights(compile(graph, ArchConfig{})), 1);
}

TEST(Schedule, WhereWeightsTakeTheBusAsLongAsTheArrayEverySlotIsFilledEarly) {
  const Graph graph = GraphBuilder(14, picture(1, 4, 4, 64))
                          .conv(64, window(3, 1, 1))
                          .flatten()
                          .fully_connected(160)
                          .build();
  ArchConfig arch;
  EXPECT_EQ(early_weights(compile(graph, arch)), 4);
  arch.weight_slots = 8;
  EXPECT_EQ(early_weights(compile(graph, arch)), 8);
}

TEST(Schedule, SlotsAndHalvesGoRound) {
  const Graph graph = GraphBuilder(15, picture(1, 40, 40, 16)).conv(64, window(3, 1, 1)).build();
  const Program program = compile(graph, ArchConfig{});
  const CommandStream posts = program.stream(Unit::kPost);
  ASSERT_GE(posts.size(), 4u);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const auto post = posts.fields<Post>(i);
    EXPECT_EQ(post.acc_half, i % 2);
    EXPECT_EQ(post.param_slot, i % 2);
    EXPECT_EQ(post.out_addr, i % 2 * 512);  // 16 KiB of 16-byte words in two halves
  }
  std::size_t weights = 0;
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    const auto& load = std::get<Load>(instruction.command.fields);
    if (load.memory != static_cast<std::uint32_t>(LoadMemory::kWeight)) continue;
    EXPECT_EQ(load.local_addr, weights++ % 4 * 1024);  // 64 KiB of 16-byte words in four slots
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
