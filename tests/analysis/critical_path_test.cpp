// report/analysis/critical_path.h and report/analysis/channel_waits.h, on programs of a few
// commands whose times are worked out by hand: no engine takes part.
#include "report/analysis/critical_path.h"

#include <numeric>

#include <gtest/gtest.h>

#include "report/analysis/cycle_accounting.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

enum Token : std::uint16_t {
  kPathActReady = 1 << 0,
  kPathWeightReady = 1 << 1,
  kWeightFree = 1 << 2,
  kPathAccReady = 1 << 3,
  kAccFree = 1 << 4,
  kPathOutReady = 1 << 5,
  kOutFree = 1 << 6,
};

// 4 x 4 PEs, 4-byte bus, latency 10, bursts of 8 beats; one accumulator half, output half and
// weight slot, so that chains are short.
Program empty_program() {
  Program program;
  program.name = "hand";
  program.arch.array_rows = program.arch.array_cols = program.arch.bus_bytes = 4;
  program.arch.dram_latency_cycles = 10;
  program.arch.burst_beats = 8;
  const char* names[] = {"act_ready", "weight_ready", "weight_free", "acc_ready",
                         "acc_free",  "out_ready",    "out_free"};
  for (std::size_t s = 0; s < std::size(names); ++s) program.semaphores[s].name = names[s];
  for (const std::size_t s : {2, 4, 6}) program.semaphores[s].initial = 1;
  program.layers.resize(1);
  program.layers[0].name = "conv1";
  return program;
}

template <typename Fields>
void add(Program& program, const Fields& fields, unsigned wait, unsigned signal, int layer = 0) {
  program.streams.append(
      {static_cast<std::uint16_t>(wait), static_cast<std::uint16_t>(signal), fields},
      {layer, 0, 0, 1, 0, 1, 0, 1, 0, 4});
}

Load load(LoadMemory memory, std::uint32_t beats) {
  Load load;
  load.memory = static_cast<std::uint32_t>(memory);
  load.run_bytes = 4 * beats;
  load.runs = load.groups = 1;
  return load;
}

Execute execute(std::uint32_t folds, std::uint32_t pixels) {
  Execute execute;
  execute.planes = folds;
  execute.kernel_h = execute.kernel_w = execute.out_rows = 1;
  execute.out_cols = pixels;
  return execute;
}

Post post(std::uint32_t beats) {
  Post post;
  post.out_rows = post.pool_h = post.pool_w = 1;
  post.out_cols = beats;
  return post;
}

Store store(std::uint32_t beats) {
  Store store;
  store.run_bytes = 4 * beats;
  store.runs = store.groups = 1;
  return store;
}

PathCycles path_of(const Program& program, const CommandTimes& times, std::size_t layer = 0) {
  return account(program, times).layers[layer].path.cycles;
}

std::uint64_t part(const PathCycles& path, PathPart part) {
  return path[static_cast<std::size_t>(part)];
}

std::uint64_t sum(const PathCycles& path) {
  return std::accumulate(path.begin(), path.end(), std::uint64_t{0});
}

// Three tiles that wait for one another: EXECUTE for acc_free, which POST raises; POST for
// out_free, which STORE raises.
Program three_tiles(std::uint32_t post_beats, std::uint32_t store_beats) {
  Program program = empty_program();
  add(program, load(LoadMemory::kActivation, 4), 0, kPathActReady);
  for (int tile = 0; tile < 3; ++tile) {
    add(program, execute(1, 4), kAccFree | (tile == 0 ? kPathActReady : 0), kPathAccReady);
    add(program, post(post_beats), kPathAccReady | kOutFree, kAccFree | kPathOutReady);
    add(program, store(store_beats), kPathOutReady, kOutFree);
  }
  return program;
}

TEST(CriticalPath, WaitOfTheArrayForAFreeAccumulatorEndsAtTheBusyWriteBus) {
  const Program program = three_tiles(4, 40);
  const CommandTimes times = {{{{0, 4, 14}},
                               {{14, 18, 36}, {46, 50, 68}, {106, 110, 128}},
                               {{36, 40, 46}, {96, 100, 106}, {156, 160, 166}},
                               {{46, 86, 96}, {106, 146, 156}, {166, 206, 216}}}};
  const RunAccount run = account(program, times);
  EXPECT_EQ(run.layers[0].stall_cycles[4], 28u + 56u);  // what the array's stalls blame
  const PathCycles& path = run.layers[0].path.cycles;
  EXPECT_EQ(part(path, PathPart::kWriteBus), 120u);
  EXPECT_EQ(part(path, PathPart::kDramLatency), 40u);
  EXPECT_EQ(part(path, PathPart::kPost), 12u);
  EXPECT_EQ(part(path, PathPart::kPostLatency), 18u);
  EXPECT_EQ(part(path, PathPart::kArray), 4u);
  EXPECT_EQ(part(path, PathPart::kArrayLatency), 18u);
  EXPECT_EQ(part(path, PathPart::kActivations), 4u);
  EXPECT_EQ(sum(path), 216u);
  const LimitedBy limit = limited_by(path);
  EXPECT_EQ(limit.name, "write_bus");
  EXPECT_EQ(limit.path_cycles, 120u);
  EXPECT_DOUBLE_EQ(limiter_busy(run.layers[0]), 120.0 / 216);
}

TEST(CriticalPath, UnitThatIsNeverIdleIsThePathByItself) {
  Program program = three_tiles(4, 40);
  program.semaphores[6].initial = 3;  // outputs have room
  const CommandTimes times = {{{{0, 4, 14}},
                               {{14, 18, 36}, {46, 50, 68}, {78, 82, 100}},
                               {{36, 40, 46}, {68, 72, 78}, {100, 104, 110}},
                               {{46, 86, 96}, {86, 126, 136}, {126, 166, 176}}}};
  const PathCycles path = path_of(program, times);
  EXPECT_EQ(part(path, PathPart::kWriteBus), 120u);
  EXPECT_EQ(part(path, PathPart::kDramLatency), 10u + 10u);  // of the LOAD and the last STORE
  EXPECT_EQ(part(path, PathPart::kPost), 4u);
  EXPECT_EQ(sum(path), 176u);
}

TEST(CriticalPath, LongPoolingIsLimitedByPost) {
  const Program program = three_tiles(100, 4);
  const CommandTimes times = {{{{0, 4, 14}},
                               {{14, 18, 36}, {142, 146, 164}, {270, 274, 292}},
                               {{36, 136, 142}, {164, 264, 270}, {292, 392, 398}},
                               {{142, 146, 156}, {270, 274, 284}, {398, 402, 412}}}};
  const RunAccount run = account(program, times);
  EXPECT_EQ(part(run.layers[0].path.cycles, PathPart::kPost), 300u);
  EXPECT_EQ(part(run.layers[0].path.cycles, PathPart::kArrayLatency), 54u);
  EXPECT_EQ(limited_by(run.layers[0].path.cycles).name, "post");
  EXPECT_DOUBLE_EQ(limiter_busy(run.layers[0]), 300.0 / 412);
}

// Two sets of weights in one slot: the second LOAD waits for weight_free.
Program two_weights(std::uint32_t weight_beats, std::uint32_t folds, std::uint32_t pixels) {
  Program program = empty_program();
  for (int i = 0; i < 2; ++i) {
    add(program, load(LoadMemory::kWeight, weight_beats), kWeightFree, kPathWeightReady);
    add(program, execute(folds, pixels), kPathWeightReady,
        kWeightFree | (i == 1 ? kPathAccReady : 0));
  }
  add(program, post(4), kPathAccReady, kPathOutReady);
  add(program, store(4), kPathOutReady, 0);
  return program;
}

CommandTimes times_of_two_weights(std::uint64_t beats, std::uint64_t stream) {
  const std::uint64_t e0 = beats + 10, w1 = e0 + stream + 18, e1 = w1 + beats + 10;
  const std::uint64_t p = e1 + stream + 18, s = p + 10;
  return {{{{0, beats, e0}, {w1, w1 + beats, e1}},
           {{e0, e0 + stream, w1}, {e1, e1 + stream, p}},
           {{p, p + 4, s}},
           {{s, s + 4, s + 14}}}};
}

TEST(CriticalPath, ChainThroughAWeightSlotEndsAtTheBusThatFillsIt) {
  const PathCycles path = path_of(two_weights(200, 1, 4), times_of_two_weights(200, 4));
  EXPECT_EQ(part(path, PathPart::kWeights), 400u);
  EXPECT_EQ(part(path, PathPart::kArray), 8u);
  EXPECT_EQ(limited_by(path).limiter, Limiter::kReadBus);
  EXPECT_EQ(limited_by(path).name, "weights");
}

TEST(CriticalPath, ChainThroughAWeightSlotEndsAtTheArrayThatKeepsIt) {
  const PathCycles path = path_of(two_weights(4, 20, 10), times_of_two_weights(4, 200));
  EXPECT_EQ(part(path, PathPart::kArray), 400u);
  EXPECT_EQ(part(path, PathPart::kFoldBubbles), 0u);
  EXPECT_EQ(limited_by(path).name, "array");
}

TEST(CriticalPath, FoldsWithFewerPixelsThanRowsAreBubbles) {
  const PathCycles path = path_of(two_weights(4, 50, 1), times_of_two_weights(4, 200));
  EXPECT_EQ(part(path, PathPart::kArray), 100u);
  EXPECT_EQ(part(path, PathPart::kFoldBubbles), 300u);
  const LimitedBy limit = limited_by(path);
  EXPECT_EQ(limit.limiter, Limiter::kArray);
  EXPECT_EQ(limit.name, "bubbles");
  EXPECT_EQ(limit.path_cycles, 400u);
}

TEST(CriticalPath, ShortCommandsAreLimitedByTheirLatencies) {
  const RunAccount run = account(two_weights(4, 1, 4), times_of_two_weights(4, 4));
  const LayerAccount& layer = run.layers[0];
  EXPECT_EQ(part(layer.path.cycles, PathPart::kDramLatency), 30u);
  EXPECT_EQ(part(layer.path.cycles, PathPart::kArrayLatency), 36u);
  EXPECT_EQ(part(layer.path.cycles, PathPart::kPostLatency), 6u);
  const LimitedBy limit = limited_by(layer.path.cycles);
  EXPECT_EQ(limit.name, "dependence");
  EXPECT_EQ(limit.path_cycles, 72u);
  EXPECT_DOUBLE_EQ(limiter_busy(layer), 72.0 / static_cast<double>(layer.cycles()));
}

TEST(CriticalPath, ReadBusIsNamedAfterItsWeightsWhereTheyAreMoreThanHalf) {
  PathCycles path{};
  path[static_cast<std::size_t>(PathPart::kActivations)] = 50;
  path[static_cast<std::size_t>(PathPart::kWeights)] = 50;
  EXPECT_EQ(limited_by(path).name, "read_bus");
  path[static_cast<std::size_t>(PathPart::kParameters)] = 1;
  EXPECT_EQ(limited_by(path).name, "read_bus");
  path[static_cast<std::size_t>(PathPart::kWeights)] = 52;
  EXPECT_EQ(limited_by(path).name, "weights");
}

TEST(CriticalPath, OfEqualSharesTheFirstLimiterCounts) {
  using enum PathPart;
  const std::pair<PathPart, const char*> parts[] = {{kDramLatency, "dependence"},
                                                    {kPost, "post"},
                                                    {kWriteBus, "write_bus"},
                                                    {kActivations, "read_bus"},
                                                    {kArray, "array"}};
  PathCycles path{};
  for (const auto& [part, name] : parts) {
    path[static_cast<std::size_t>(part)] = 10;
    EXPECT_EQ(limited_by(path).name, name);
  }
}

TEST(CriticalPath, UnitThatIsFreeWhenATokenComesExplainsTheStartBeforeTheToken) {
  Program program = empty_program();
  add(program, load(LoadMemory::kActivation, 22), 0, kPathActReady);
  add(program, execute(8, 4), 0, 0);
  add(program, execute(1, 4), kPathActReady, kPathAccReady);
  add(program, post(4), kPathAccReady, kPathOutReady);
  add(program, store(4), kPathOutReady, 0);
  // Both the first EXECUTE and the activations allow the second to start at 32.
  const CommandTimes times = {
      {{{0, 22, 32}}, {{0, 32, 50}, {32, 36, 54}}, {{54, 58, 64}}, {{64, 68, 78}}}};
  const PathCycles path = path_of(program, times);
  EXPECT_EQ(part(path, PathPart::kArray), 36u);
  EXPECT_EQ(part(path, PathPart::kActivations), 0u);
}

// One burst at a time: after each the channel waits until its data has come.
TEST(CriticalPath, BusThatWaitsForItsOutstandingBurstsIsLimitedByTheLatency) {
  Program program = two_weights(32, 1, 4);
  program.arch.outstanding_bursts = 1;
  CommandTimes times = {{{{0, 62, 72}, {94, 156, 166}},
                         {{72, 76, 94}, {166, 170, 188}},
                         {{188, 192, 198}},
                         {{198, 202, 212}}}};
  const PathCycles path = path_of(program, times);
  EXPECT_EQ(part(path, PathPart::kWeights), 64u);
  EXPECT_EQ(part(path, PathPart::kDramLatency), 2u * (30 + 10) + 10);
  EXPECT_EQ(limited_by(path).name, "dependence");
  times[0][0].free = 61;
  EXPECT_THROW(account(program, times), InternalError);
}

// The LOAD of the second layer's weights began while the first layer was stored.
TEST(CriticalPath, CommandThatBeganBeforeTheWindowIsCutToTheCycle) {
  Program program = empty_program();
  program.arch.outstanding_bursts = 1;
  program.layers.push_back(program.layers[0]);
  program.layers[1].name = "conv2";
  add(program, store(12), 0, 0);
  add(program, load(LoadMemory::kWeight, 32), 0, kPathWeightReady, 1);
  add(program, execute(1, 4), kPathWeightReady, kPathAccReady, 1);
  add(program, post(4), kPathAccReady, kPathOutReady, 1);
  add(program, store(4), kPathOutReady, 0, 1);
  // Bursts of the LOAD stream in [0, 8), [18, 26), [36, 44), [54, 62); the window begins at 32.
  const CommandTimes times = {
      {{{0, 62, 72}}, {{72, 76, 94}}, {{94, 98, 104}}, {{0, 22, 32}, {104, 108, 118}}}};
  const RunAccount run = account(program, times);
  const PathCycles& first = run.layers[0].path.cycles;
  EXPECT_EQ(part(first, PathPart::kWriteBus), 12u);
  EXPECT_EQ(part(first, PathPart::kDramLatency), 20u);
  const PathCycles& second = run.layers[1].path.cycles;
  EXPECT_EQ(part(second, PathPart::kWeights), 16u);
  EXPECT_EQ(part(second, PathPart::kDramLatency), 4u + 10u + 10u + 10u);
  EXPECT_EQ(sum(second), 118u - 32u);
  EXPECT_EQ(run.layers[0].busy.loads[1], 32u);
  EXPECT_EQ(run.layers[1].busy.loads[1], 30u);
  EXPECT_EQ(run.layers[1].busy.units[0], 30u);
}

TEST(CriticalPath, WaitsAreTheCyclesOfThePathInWhichTheArrayIsFree) {
  const Program program = sample_program();
  const RunAccount run = account(program, sample_result().times);
  const std::uint64_t streams[] = {30, 20};
  for (std::size_t l = 0; l < 2; ++l) {
    const LayerPath& path = run.layers[l].path;
    EXPECT_EQ(sum(path.cycles), run.layers[l].cycles());
    EXPECT_EQ(sum(path.waits) + streams[l], run.layers[l].cycles());
    EXPECT_EQ(part(path.waits, PathPart::kArray), 0u);
    EXPECT_EQ(part(path.waits, PathPart::kArrayLatency), 18u);
  }
}

TEST(CriticalPath, ArrayThatWorksWhileThePathIsElsewhereDoesNotWait) {
  Program program = three_tiles(4, 40);
  program.semaphores[4].initial = 3;  // psums have room
  const CommandTimes times = {{{{0, 4, 14}},
                               {{14, 18, 36}, {18, 22, 40}, {22, 26, 44}},
                               {{36, 40, 46}, {96, 100, 106}, {156, 160, 166}},
                               {{46, 86, 96}, {106, 146, 156}, {166, 206, 216}}}};
  const LayerPath path = account(program, times).layers[0].path;
  // The path is at the first EXECUTE's latency in [18, 36); the other two stream in [18, 26).
  EXPECT_EQ(part(path.cycles, PathPart::kArrayLatency), 18u);
  EXPECT_EQ(part(path.waits, PathPart::kArrayLatency), 10u);
  EXPECT_EQ(part(path.waits, PathPart::kWriteBus), 120u);
}

}  // namespace
}  // namespace qsim
