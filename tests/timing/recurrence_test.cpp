// Times of commands against sums worked out by hand: the examples of
// docs/reference/timing_model.md, tokens between units, and what a caller may do with the state.
#include "sim/recurrence/recurrence.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim {

using namespace sim;
namespace {

constexpr TokenMasks kNone{};

// pe16x16, which is the default.
Recurrence pe16x16() { return Recurrence(ArchConfig{}, {}); }

Execute convolution(std::uint32_t planes, std::uint32_t kernel, std::uint32_t rows,
                    std::uint32_t cols) {
  Execute execute;
  execute.planes = planes;
  execute.kernel_h = execute.kernel_w = kernel;
  execute.out_rows = rows;
  execute.out_cols = cols;
  execute.blocks = 1;
  return execute;
}

Load load_of(LoadMemory memory, std::uint32_t runs, std::uint32_t run_bytes) {
  Load load;
  load.memory = static_cast<std::uint32_t>(memory);
  load.runs = runs;
  load.groups = 1;
  load.run_bytes = run_bytes;
  return load;
}

Post post_of(std::uint32_t rows, std::uint32_t cols, std::uint32_t pool) {
  Post post;
  post.out_rows = rows;
  post.out_cols = cols;
  post.pool_h = post.pool_w = pool;
  return post;
}

Store store_of(std::uint32_t runs, std::uint32_t run_bytes) {
  Store store;
  store.runs = runs;
  store.groups = 1;
  store.run_bytes = run_bytes;
  return store;
}

TEST(Recurrence, AnExecuteTakesTheCyclesOfTheManual) {
  EXPECT_EQ(pe16x16().add(convolution(4, 3, 8, 32), kNone), (CommandTime{0, 9216, 9270}));
  // A fully connected layer: 16 folds of one pixel and 15 bubbles; 16 + 256 + 32 + 6.
  EXPECT_EQ(pe16x16().add(convolution(16, 1, 1, 1), kNone), (CommandTime{0, 256, 310}));
}

// docs/reference/timing_model.md, "Switch": fill and drain of the EXECUTE before.
TEST(Recurrence, AnotherDataflowStartsOnAnEmptyArray) {
  const auto of = [](Dataflow dataflow) {
    Execute e = convolution(4, 3, 8, 32);
    e.dataflow = static_cast<std::uint32_t>(dataflow);
    return e;
  };
  Recurrence recurrence = pe16x16();
  EXPECT_EQ(recurrence.add(of(Dataflow::kOutputStationary), kNone), (CommandTime{0, 9216, 9271}));
  EXPECT_EQ(recurrence.add(of(Dataflow::kOutputStationary), kNone),
            (CommandTime{9216, 18432, 18487}));
  EXPECT_EQ(recurrence.add(of(Dataflow::kInputStationary), kNone),
            (CommandTime{18487, 27703, 27757}));
  EXPECT_EQ(recurrence.add(of(Dataflow::kWeightStationary), kNone),
            (CommandTime{27757, 36973, 37027}));
  recurrence.reset();
  EXPECT_EQ(recurrence.add(of(Dataflow::kInputStationary), kNone).start, 0u);
}

TEST(Recurrence, ASwitchAndATokenAreWaitedForTogether) {
  ArchConfig arch;
  arch.dram_latency_cycles = 1;
  for (const std::uint32_t run_bytes : {160u, 16000u}) {  // loaded at 11, and at 1001
    Recurrence recurrence(arch, {});
    Execute e = convolution(1, 1, 4, 4);
    EXPECT_EQ(recurrence.add(e, kNone).done, 70u);  // 16 + 16 + 38
    const std::uint64_t loaded =
        recurrence.add(load_of(LoadMemory::kWeight, 1, run_bytes), {0, 1}).done;
    e.dataflow = static_cast<std::uint32_t>(Dataflow::kOutputStationary);
    EXPECT_EQ(recurrence.add(e, {1, 0}).start, std::max<std::uint64_t>(70, loaded));
  }
}

TEST(Recurrence, APostTakesTheCyclesOfTheManual) {
  EXPECT_EQ(pe16x16().add(post_of(4, 16, 2), kNone), (CommandTime{0, 256, 262}));
}

TEST(Recurrence, ALoadAndAStoreTakeTheCyclesOfTheManual) {
  EXPECT_EQ(pe16x16().add(load_of(LoadMemory::kActivation, 10, 1536), kNone),
            (CommandTime{0, 960, 1060}));
  EXPECT_EQ(pe16x16().add(store_of(10, 1536), kNone), (CommandTime{0, 960, 1060}));
}

TEST(Recurrence, ABeatMovesTheNarrowerOfBusAndWord) {
  ArchConfig arch;
  arch.array_rows = 8;
  arch.array_cols = 4;
  arch.bus_bytes = 16;
  const auto free_of = [&](LoadMemory memory, std::uint32_t bytes) {
    return Recurrence(arch, {}).add(load_of(memory, 1, bytes), kNone).free;
  };
  EXPECT_EQ(free_of(LoadMemory::kActivation, 64), 8u);
  EXPECT_EQ(free_of(LoadMemory::kActivation, 65), 9u);
  EXPECT_EQ(free_of(LoadMemory::kWeight, 64), 8u);
  EXPECT_EQ(free_of(LoadMemory::kParameter, 64), 4u);
  EXPECT_EQ(Recurrence(arch, {}).add(store_of(1, 64), kNone).free, 16u);
}

TEST(Recurrence, TheUnitsOfAPipelineWaitForEachOthersTokens) {
  // LOAD signals 0, EXECUTE 1, POST 2; 3 is the accumulator's, back from POST to EXECUTE.
  TokenCounts initial{};
  initial[3] = 1;
  Recurrence recurrence(ArchConfig{}, initial);
  EXPECT_EQ(recurrence.add(load_of(LoadMemory::kActivation, 1, 1024), {0, 1}),
            (CommandTime{0, 64, 164}));
  EXPECT_EQ(recurrence.add(convolution(1, 1, 8, 8), {1 | 8, 2}), (CommandTime{164, 228, 282}));
  EXPECT_EQ(recurrence.add(post_of(8, 8, 1), {2, 4 | 8}), (CommandTime{282, 346, 352}));
  EXPECT_EQ(recurrence.add(store_of(1, 1024), {4, 0}), (CommandTime{352, 416, 516}));
  // The second round's LOAD starts when its unit is free, its EXECUTE when POST is done.
  EXPECT_EQ(recurrence.add(load_of(LoadMemory::kActivation, 1, 1024), {0, 1}),
            (CommandTime{64, 128, 228}));
  EXPECT_EQ(recurrence.add(convolution(1, 1, 8, 8), {1 | 8, 2}), (CommandTime{352, 416, 470}));
  EXPECT_EQ(recurrence.free_cycle(Unit::kExecute), 416u);
  EXPECT_EQ(recurrence.done_cycle(Unit::kExecute), 470u);
  EXPECT_EQ(recurrence.free_cycle(Unit::kPost), 346u);
  EXPECT_EQ(recurrence.tokens_left(1), 1u);
  EXPECT_EQ(recurrence.tokens_left(3), 0u);
}

TEST(Recurrence, ReadsAndWritesDoNotDelayOneAnother) {
  Recurrence recurrence = pe16x16();
  recurrence.add(load_of(LoadMemory::kWeight, 100, 1024), kNone);
  EXPECT_EQ(recurrence.add(store_of(1, 16), kNone), (CommandTime{0, 1, 101}));
  EXPECT_EQ(recurrence.add(load_of(LoadMemory::kWeight, 1, 16), kNone).start, 6400u);
}

TEST(Recurrence, TheOrderInWhichUnitsAddTheirCommandsChangesNoTime) {
  Recurrence by_round(ArchConfig{}, {});
  Recurrence by_unit(ArchConfig{}, {});
  std::array<std::array<CommandTime, 3>, 2> times{};
  for (std::size_t i = 0; i < 3; ++i) {
    by_round.add(load_of(LoadMemory::kActivation, 2, 480), {0, 1});
    times[0][i] = by_round.add(convolution(1, 3, 4, 4), {1, 0});
  }
  for (int i = 0; i < 3; ++i) by_unit.add(load_of(LoadMemory::kActivation, 2, 480), {0, 1});
  for (std::size_t i = 0; i < 3; ++i) times[1][i] = by_unit.add(convolution(1, 3, 4, 4), {1, 0});
  EXPECT_EQ(times[0], times[1]);
  EXPECT_EQ(times[0][0].start, 160u);
}

TEST(Recurrence, ACopyGoesOnFromTheSameStateAndAResetFromTheFirst) {
  Recurrence first(ArchConfig{}, {});
  const CommandTime fresh = first.add(load_of(LoadMemory::kActivation, 3, 100), {0, 1});
  Recurrence second = first;
  const CommandTime next = first.add(convolution(1, 1, 2, 2), {1, 0});
  EXPECT_EQ(second.add(convolution(1, 1, 2, 2), {1, 0}), next);
  EXPECT_EQ(next.start, fresh.done);
  first.reset();
  EXPECT_FALSE(first.can_add(1));
  EXPECT_EQ(first.free_cycle(Unit::kExecute), 0u);
  EXPECT_EQ(first.add(load_of(LoadMemory::kActivation, 3, 100), {0, 1}), fresh);
}

TEST(Recurrence, AddsACommandAsItsFieldsAndMasks) {
  Recurrence as_fields(ArchConfig{}, {});
  Recurrence as_commands(ArchConfig{}, {});
  const Load load = load_of(LoadMemory::kWeight, 7, 300);
  EXPECT_EQ(as_commands.add(Command{0, 1, load}), as_fields.add(load, {0, 1}));
  const Execute execute = convolution(2, 3, 5, 7);
  EXPECT_EQ(as_commands.add(Command{1, 2, execute}), as_fields.add(execute, {1, 2}));
  const Post post = post_of(5, 7, 1);
  EXPECT_EQ(as_commands.add(Command{2, 4, post}), as_fields.add(post, {2, 4}));
  const Store store = store_of(5, 112);
  EXPECT_EQ(as_commands.add(Command{4, 0, store}), as_fields.add(store, {4, 0}));
  EXPECT_EQ(as_commands.done_cycle(Unit::kStore), as_fields.done_cycle(Unit::kStore));
}

TEST(Recurrence, ACommandWhoseTokenNobodySignalledIsRefused) {
  Recurrence recurrence = pe16x16();
  EXPECT_FALSE(recurrence.can_add(2));
  EXPECT_THROW(recurrence.add(post_of(1, 1, 1), {2, 0}), InternalError);
}

TEST(Recurrence, ACommandThatWouldBeDoneBeforeItsPredecessorIsRefused) {
  Recurrence recurrence = pe16x16();
  recurrence.add(load_of(LoadMemory::kWeight, 1, 16), kNone);
  EXPECT_THROW(recurrence.add(load_of(LoadMemory::kWeight, 0, 16), kNone), InternalError);
}

}  // namespace
}  // namespace qsim
