// Command times of two engines, compared with each other.
#include "cli/session/verification/time_comparison.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace cli;
namespace {

CommandTimes hand_times() {
  return {{{{0, 16, 26}, {16, 22, 32}, {22, 31, 41}},
           {{32, 48, 66}},
           {{66, 82, 88}},
           {{88, 104, 114}}}};
}

TEST(TimeComparison, EqualTimesHaveNoMismatch) {
  const TimeComparison comparison = compare_times(hand_times(), hand_times());
  EXPECT_EQ(comparison.commands, 6);
  EXPECT_EQ(comparison.mismatches, 0);
  EXPECT_FALSE(comparison.first.has_value());
}

TEST(TimeComparison, EachOfTheThreeCyclesCountsAndTheCommandIsNamed) {
  for (std::uint64_t CommandTime::*cycle :
       {&CommandTime::start, &CommandTime::free, &CommandTime::done}) {
    CommandTimes found = hand_times();
    ++(found[0][1].*cycle);
    const TimeComparison comparison = compare_times(hand_times(), found);
    EXPECT_EQ(comparison.mismatches, 1);
    ASSERT_TRUE(comparison.first.has_value());
    EXPECT_EQ(comparison.first->unit, Unit::kLoad);
    EXPECT_EQ(comparison.first->command, 1u);
  }
}

TEST(TimeComparison, TheFirstDivergenceIsTheCommandThatStartsFirstOfAnyUnit) {
  CommandTimes found = hand_times();
  found[0][2].done = 40;
  found[2][0].done = 89;
  found[1][0] = {10, 26, 44};  // too early
  const TimeComparison comparison = compare_times(hand_times(), found);
  EXPECT_EQ(comparison.mismatches, 3);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_EQ(comparison.first->unit, Unit::kExecute);
  EXPECT_EQ(time_divergence_text(hand_program(), *comparison.first),
            "execute command 0 (conv tile 0, n 0..1, y 0..4, x 0..4, c 0..4): expected start 32, "
            "free 48, done 66; found start 10, free 26, done 44");
}

TEST(TimeComparison, TimesOfAnotherProgramAreABug) {
  CommandTimes found = hand_times();
  found[3].clear();
  EXPECT_THROW(compare_times(hand_times(), found), InternalError);
}

}  // namespace
}  // namespace qsim
