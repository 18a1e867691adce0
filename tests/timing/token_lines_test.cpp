// Which wait takes which token, and when a semaphore overflows.
#include "sim/recurrence/token_lines.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim {

using namespace sim;
namespace {

TokenCounts initial(std::size_t semaphore, std::uint8_t count) {
  TokenCounts counts{};
  counts[semaphore] = count;
  return counts;
}

constexpr std::uint16_t kFirst = 1;
constexpr std::uint16_t kThird = 4;

TEST(TokenLines, TheInitialTokensAreTakenBeforeTheSignalledOnes) {
  TokenLines lines(initial(2, 2));
  lines.signal(Unit::kLoad, kThird, 30);
  lines.signal(Unit::kLoad, kThird, 40);
  for (const std::uint64_t expected : {0u, 0u, 30u, 40u}) {
    ASSERT_TRUE(lines.has_next(kThird));
    EXPECT_EQ(lines.arrival(Unit::kExecute, kThird), expected);
    lines.take(Unit::kExecute, kThird, 50);
  }
  EXPECT_FALSE(lines.has_next(kThird));
  EXPECT_THROW(lines.arrival(Unit::kExecute, kThird), InternalError);
}

TEST(TokenLines, ACommandWaitsForTheLatestOfItsTokens) {
  TokenLines lines({});
  lines.signal(Unit::kLoad, kFirst, 70);
  EXPECT_FALSE(lines.has_next(kFirst | kThird));
  lines.signal(Unit::kPost, kThird, 60);
  EXPECT_TRUE(lines.has_next(kFirst | kThird));
  EXPECT_EQ(lines.arrival(Unit::kExecute, kFirst | kThird), 70u);
  EXPECT_EQ(lines.arrival(Unit::kExecute, 0), 0u);
}

TEST(TokenLines, AResetBringsTheInitialTokensBack) {
  TokenLines lines(initial(2, 1));
  lines.signal(Unit::kLoad, kThird, 30);
  lines.take(Unit::kExecute, kThird, 40);
  lines.reset();
  EXPECT_EQ(lines.left(2), 1u);
  EXPECT_EQ(lines.arrival(Unit::kExecute, kThird), 0u);
  lines.take(Unit::kStore, kThird, 1);  // another unit: the lines know none after a reset
  EXPECT_EQ(lines.left(2), 0u);
}

TEST(TokenLines, ManyTokensMayBeSignalledBeforeTheFirstIsTaken) {
  TokenLines lines({});
  for (std::uint64_t i = 0; i < 1000; ++i) lines.signal(Unit::kLoad, kThird, 10 * i);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(lines.arrival(Unit::kExecute, kThird), 10 * i);
    lines.take(Unit::kExecute, kThird, 10 * i);
  }
}

TEST(TokenLines, FifteenTokensAreAllowedAndASixteenthInALaterCycleIsNot) {
  // The wait for the first token is in the cycle of the sixteenth signal, or one cycle later. The
  // two are added in both orders.
  for (const bool wait_first : {false, true}) {
    for (const std::uint64_t wait : {115u, 116u}) {
      TokenLines lines({});
      for (std::uint64_t i = 0; i < 15; ++i) lines.signal(Unit::kLoad, kFirst, 100 + i);
      const auto add_both = [&] {
        if (wait_first) lines.take(Unit::kExecute, kFirst, wait);
        lines.signal(Unit::kLoad, kFirst, 115);
        if (!wait_first) lines.take(Unit::kExecute, kFirst, wait);
      };
      if (wait == 115) {
        add_both();
        EXPECT_EQ(lines.left(0), 15u);
      } else {
        EXPECT_THROW(add_both(), InternalError);
      }
    }
  }
}

TEST(TokenLines, SixteenTokensThatAreNeverTakenOverflowAtTheEnd) {
  TokenLines lines(initial(0, 15));
  lines.check_end();
  lines.signal(Unit::kLoad, kFirst, 115);
  EXPECT_THROW(lines.check_end(), InternalError);
}

TEST(TokenLines, ASemaphoreHasOneUnitThatWaitsAndOneThatSignals) {
  TokenLines lines(initial(0, 2));
  lines.signal(Unit::kLoad, kFirst, 5);
  EXPECT_THROW(lines.signal(Unit::kPost, kFirst, 6), InternalError);
  lines.take(Unit::kExecute, kFirst, 7);
  EXPECT_THROW(lines.take(Unit::kStore, kFirst, 8), InternalError);
}

TEST(TokenLines, ASemaphoreBeginsWithAtMostFifteenTokens) {
  EXPECT_THROW(TokenLines(initial(3, 16)), InternalError);
}

}  // namespace
}  // namespace qsim
