// The closed forms of the DRAM port against times worked out by hand and against the channel that
// steps from burst to burst, and what they cost.
#include "sim/recurrence/dram_recurrence.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/machine/dram_channel.h"

namespace qsim {

using namespace sim;
namespace {

ArchConfig port(std::int64_t latency, std::int64_t burst_beats, std::int64_t outstanding) {
  ArchConfig arch;
  arch.dram_latency_cycles = latency;
  arch.burst_beats = burst_beats;
  arch.outstanding_bursts = outstanding;
  return arch;
}

void expect_times(const DramRecurrence::Times& times, std::uint64_t free, std::uint64_t done) {
  EXPECT_EQ(times.free, free);
  EXPECT_EQ(times.done, done);
}

// docs/reference/timing_model.md, LOAD and STORE.
TEST(DramRecurrence, GivesTheTimesOfTheExamplesInTheManual) {
  DramRecurrence pe16x16(port(100, 64, 16));
  expect_times(pe16x16.transfer(0, 10, 96), 960, 1060);
  DramRecurrence one_outstanding(port(100, 64, 1));
  expect_times(one_outstanding.transfer(0, 2, 64), 228, 328);
}

TEST(DramRecurrence, ShortBurstsWaitForTheOldestOutstandingOne) {
  DramRecurrence recurrence(port(10, 8, 2));
  // Issued at 0, 1, then when the first and second are done: 11, 12, 22.
  expect_times(recurrence.transfer(0, 5, 1), 23, 33);
}

TEST(DramRecurrence, ACommandWaitsForBurstsOfTheOneBeforeIt) {
  DramRecurrence recurrence(port(10, 8, 2));
  expect_times(recurrence.transfer(0, 2, 8), 16, 26);   // done at 18 and 26
  expect_times(recurrence.transfer(16, 2, 4), 30, 40);  // issued at 18 and 26
  expect_times(recurrence.transfer(100, 1, 1), 101, 111);
}

TEST(DramRecurrence, AfterAResetThePortIsIdleAtCycleZero) {
  DramRecurrence recurrence(port(10, 8, 2));
  recurrence.transfer(500, 7, 3);
  recurrence.reset();
  expect_times(recurrence.transfer(0, 2, 8), 16, 26);
  expect_times(recurrence.transfer(16, 2, 4), 30, 40);
}

// A port drawn so that streaming, waiting for the latency and changes between them all occur.
ArchConfig random_port(Random& random) {
  constexpr std::int64_t kLatencies[] = {1, 2, 7, 30, 100, 300, 3000};
  constexpr std::int64_t kBursts[] = {1, 2, 3, 8, 16, 64, 256};
  constexpr std::int64_t kOutstanding[] = {1, 2, 3, 4, 7, 16, 33, 256};
  return port(kLatencies[random.uniform(0, 6)] + random.uniform(0, 3),
              std::max<std::int64_t>(1, kBursts[random.uniform(0, 6)] - random.uniform(0, 2)),
              kOutstanding[random.uniform(0, 7)]);
}

std::uint64_t drawn(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(random.uniform(low, high));
}

DramTransfer random_transfer(Random& random, const ArchConfig& arch) {
  const std::int64_t burst = arch.burst_beats;
  const std::int64_t longest[] = {burst, 3 * burst, 40 * burst, 3};
  DramTransfer transfer;
  transfer.runs = drawn(random, 1, random.chance(0.1) ? 2000 : random.chance(0.5) ? 40 : 2);
  transfer.run_beats = drawn(random, 1, longest[random.uniform(0, 3)]);
  if (random.chance(0.3))
    transfer.run_beats = drawn(random, 1, 4) * static_cast<std::uint64_t>(burst);
  return transfer;
}

void expect_equal_times(std::uint64_t seed) {
  Random random(seed);
  const ArchConfig arch = random_port(random);
  DramChannel channel(arch);
  DramRecurrence recurrence(arch);
  std::uint64_t start = 0;
  for (std::int64_t i = random.uniform(1, 12); i > 0; --i) {
    const DramTransfer transfer = random_transfer(random, arch);
    if (random.chance(0.5)) start += drawn(random, 0, 2 * arch.dram_latency_cycles);
    const DramTimes expected = channel.schedule(start, transfer);
    const DramRecurrence::Times times =
        recurrence.transfer(start, transfer.runs, transfer.run_beats);
    const std::string what =
        "seed " + std::to_string(seed) + ": latency " + std::to_string(arch.dram_latency_cycles) +
        ", bursts of " + std::to_string(arch.burst_beats) + ", " +
        std::to_string(arch.outstanding_bursts) + " outstanding, " + std::to_string(transfer.runs) +
        " runs of " + std::to_string(transfer.run_beats) + " beats at " + std::to_string(start);
    ASSERT_EQ(times.free, expected.free) << what;
    ASSERT_EQ(times.done, expected.done) << what;
    start = expected.free;
  }
}

TEST(DramRecurrence, RandomTransfersTakeTheCyclesOfTheChannelThatStepsFromBurstToBurst) {
  for (std::uint64_t seed = 1; seed <= 20'000 && !HasFatalFailure(); ++seed) {
    expect_equal_times(seed);
  }
}

// Every port and pair of transfers of a small size.
TEST(DramRecurrence, AllSmallTransfersTakeTheCyclesOfTheChannel) {
  int compared = 0;
  for (std::int64_t latency = 1; latency <= 9; ++latency) {
    for (std::int64_t outstanding = 1; outstanding <= 4; ++outstanding) {
      for (std::uint64_t runs = 1; runs <= 24; ++runs) {
        for (std::uint64_t beats = 1; beats <= 8; ++beats) {
          const ArchConfig arch = port(latency, 3, outstanding);
          DramChannel channel(arch);
          DramRecurrence recurrence(arch);
          for (const DramTransfer& transfer :
               {DramTransfer{2, 5, 0}, DramTransfer{runs, beats, 0}, DramTransfer{3, 4, 0}}) {
            const std::uint64_t start = 11;
            const DramTimes expected = channel.schedule(start, transfer);
            expect_times(recurrence.transfer(start, transfer.runs, transfer.run_beats),
                         expected.free, expected.done);
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 9 * 4 * 24 * 8 * 3);
}

std::uint64_t steps_of(const ArchConfig& arch, std::uint64_t runs, std::uint64_t run_beats) {
  DramRecurrence recurrence(arch);
  recurrence.transfer(0, 3, 5);
  recurrence.transfer(0, runs, run_beats);
  return recurrence.steps();
}

TEST(DramRecurrence, TakesAsManyStepsForAMillionRunsAsForAThousand) {
  const ArchConfig ports[] = {port(100, 64, 16), port(100, 64, 1),  port(100, 64, 2),
                              port(3000, 8, 4),  port(100, 4, 256), port(10'000, 1, 16),
                              port(11, 5, 5),    port(100, 8, 16)};
  for (const ArchConfig& arch : ports) {
    for (const std::uint64_t run_beats : {1u, 5u, 64u, 96u, 640u, 1000u}) {
      const std::uint64_t thousand = steps_of(arch, 1000, run_beats);
      EXPECT_LE(steps_of(arch, 1'000'000, run_beats), thousand + 600)
          << arch.dram_latency_cycles << " " << arch.burst_beats << " " << arch.outstanding_bursts
          << " runs of " << run_beats;
      EXPECT_LE(steps_of(arch, 1, 1'000'000 * run_beats), 1200u);
    }
  }
}

}  // namespace
}  // namespace qsim
