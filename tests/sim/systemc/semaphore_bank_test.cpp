// Tokens that are raised and taken within one cycle net out; what is left is judged when it ends.
#include "sim/systemc/semaphore_bank.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace sim;
namespace {

constexpr std::uint16_t kFirst = 1;

Program program_with(std::uint8_t initial) {
  Program program;
  program.semaphores[0] = {"first", initial};
  return program;
}

TEST(SemaphoreBank, AFullSemaphoreMayBeRaisedInTheCycleInWhichItIsTaken) {
  const Program program = program_with(15);
  SemaphoreBank bank;
  bank.reset(program);
  bank.raise(kFirst, 7);
  EXPECT_EQ(bank.value(0), 16);
  EXPECT_TRUE(bank.try_take(Unit::kExecute, kFirst, 7));
  EXPECT_TRUE(bank.try_take(Unit::kExecute, kFirst, 8));
  bank.raise(kFirst, 8);
  bank.check_drained();
}

TEST(SemaphoreBank, AFullSemaphoreRaisedOneCycleBeforeItIsTakenOverflows) {
  const Program program = program_with(15);
  SemaphoreBank bank;
  bank.reset(program);
  bank.raise(kFirst, 7);
  EXPECT_THROW(bank.try_take(Unit::kExecute, kFirst, 8), InternalError);
}

TEST(SemaphoreBank, TakingIsAllOrNothing) {
  Program program = program_with(1);
  SemaphoreBank bank;
  bank.reset(program);
  EXPECT_FALSE(bank.try_take(Unit::kPost, 0b11, 1));
  EXPECT_EQ(bank.value(0), 1);
  EXPECT_EQ(bank.missing(0b11), 0b10);
  bank.raise(0b10, 2);
  EXPECT_TRUE(bank.try_take(Unit::kPost, 0b11, 2));
}

TEST(SemaphoreBank, AValueOtherThanTheInitialOneIsNotDrained) {
  const Program program = program_with(1);
  SemaphoreBank bank;
  bank.reset(program);
  EXPECT_TRUE(bank.try_take(Unit::kPost, kFirst, 3));
  EXPECT_THROW(bank.check_drained(), InternalError);
}

}  // namespace
}  // namespace qsim
