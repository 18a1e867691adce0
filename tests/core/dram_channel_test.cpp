// The recurrence of the DRAM channel against times worked out by hand.
#include "core/machine/dram_channel.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace qsim {
namespace {

// Latency 10, bursts of 8 beats.
ArchConfig channel_arch(std::int64_t outstanding) {
  ArchConfig arch;
  arch.dram_latency_cycles = 10;
  arch.burst_beats = 8;
  arch.outstanding_bursts = outstanding;
  return arch;
}

void expect_times(const DramTimes& times, std::uint64_t free, std::uint64_t done) {
  EXPECT_EQ(times.free, free);
  EXPECT_EQ(times.done, done);
}

TEST(DramChannel, OneBurstIsDoneItsBeatsAndTheLatencyAfterItsStart) {
  DramChannel channel(channel_arch(2));
  expect_times(channel.schedule(5, {1, 4, 16}), 9, 19);
}

TEST(DramChannel, ARunLongerThanABurstIsCutAndTheLastBurstIsShort) {
  DramChannel channel(channel_arch(3));
  // 8 + 8 + 3 beats, issued at 0, 8, 16.
  expect_times(channel.schedule(0, {1, 19, 76}), 19, 29);
}

TEST(DramChannel, EnoughOutstandingBurstsStreamWithoutAGap) {
  // 3 x 8 beats cover a burst's 8 + 10 cycles.
  DramChannel channel(channel_arch(3));
  expect_times(channel.schedule(0, {100, 8, 3200}), 800, 810);
}

TEST(DramChannel, ShortBurstsWaitForTheOldestOutstandingOne) {
  DramChannel channel(channel_arch(2));
  // Issued at 0, 1, then when the first and second are done: 11, 12, 22.
  expect_times(channel.schedule(0, {5, 1, 20}), 23, 33);
}

TEST(DramChannel, ACommandWaitsForBurstsOfTheOneBeforeIt) {
  DramChannel channel(channel_arch(2));
  expect_times(channel.schedule(0, {2, 8, 64}), 16, 26);   // done at 18 and 26
  expect_times(channel.schedule(16, {2, 4, 32}), 30, 40);  // issued at 18 and 26
  expect_times(channel.schedule(100, {1, 1, 4}), 101, 111);
}

TEST(DramChannel, OneOutstandingBurstPaysTheLatencyEachTime) {
  DramChannel channel(channel_arch(1));
  // Issued at 0, 18, 36.
  expect_times(channel.schedule(0, {3, 8, 96}), 44, 54);
}

TEST(DramChannel, ABurstCanBeIssuedWhenThePortAndItsPlaceAreFreeAndNotACycleBefore) {
  DramChannel channel(channel_arch(2));
  EXPECT_EQ(channel.earliest_issue(), 0u);
  EXPECT_EQ(channel.issue(3, 8), 21u);       // done = issue + beats + latency
  EXPECT_EQ(channel.earliest_issue(), 11u);  // the port streams until then
  EXPECT_EQ(channel.issue(11, 2), 23u);
  EXPECT_EQ(channel.earliest_issue(), 21u);  // both places are taken until the first is done
}

TEST(DramChannel, IssuingBurstByBurstGivesTheTimesOfASchedule) {
  for (const std::int64_t outstanding : {1, 2, 5}) {
    DramChannel scheduled(channel_arch(outstanding));
    DramChannel stepped(channel_arch(outstanding));
    const DramTimes times = scheduled.schedule(7, {3, 19, 228});
    std::uint64_t cycle = 7;
    std::uint64_t done = 0;
    for (const std::uint64_t beats : {8u, 8u, 3u, 8u, 8u, 3u, 8u, 8u, 3u}) {
      cycle = std::max(cycle, stepped.earliest_issue());
      done = stepped.issue(cycle, beats);
    }
    EXPECT_EQ(done, times.done) << outstanding;
    EXPECT_EQ(stepped.earliest_issue(), scheduled.earliest_issue()) << outstanding;
  }
}

TEST(DramTransfer, ABeatMovesTheNarrowerOfBusAndWord) {
  ArchConfig arch;
  arch.array_rows = 8;
  arch.array_cols = 32;
  arch.bus_bytes = 16;
  Load load;
  load.run_bytes = 64;
  load.runs = 3;
  load.groups = 2;
  const auto beats_of = [&](LoadMemory memory) {
    load.memory = static_cast<std::uint32_t>(memory);
    return dram_transfer(load, arch).run_beats;
  };
  EXPECT_EQ(beats_of(LoadMemory::kActivation), 8u);  // 8-byte words
  EXPECT_EQ(beats_of(LoadMemory::kWeight), 4u);      // the bus
  EXPECT_EQ(beats_of(LoadMemory::kParameter), 4u);
  EXPECT_EQ(dram_transfer(load, arch).runs, 6u);
  EXPECT_EQ(dram_transfer(load, arch).bytes, 384u);
  load.run_bytes = 65;
  EXPECT_EQ(beats_of(LoadMemory::kParameter), 5u);  // the last beat is not full
  Store store;
  store.run_bytes = 64;
  store.runs = store.groups = 1;
  EXPECT_EQ(dram_transfer(store, arch).run_beats, 4u);
  arch.array_cols = 4;
  EXPECT_EQ(dram_transfer(store, arch).run_beats, 16u);
}

}  // namespace
}  // namespace qsim
