// Threads that cannot be started, and work that throws.
#include "golden/common/thread_team.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <pthread.h>

namespace qsim::golden {
namespace {

constexpr std::size_t kParts = 64;

// What comes out of run(), and whether parts still run then.
struct Outcome {
  std::string thrown = "nothing";
  std::size_t begun = 0;
  std::int64_t running = 0;
};

// Parts from `first` on throw their number.
Outcome outcome_of(ThreadTeam& team, std::size_t first) {
  std::atomic<std::size_t> begun = 0;
  std::atomic<std::int64_t> running = 0;
  Outcome outcome;
  try {
    team.run(kParts, [&](std::size_t part) {
      ++begun;
      ++running;
      std::this_thread::sleep_for(std::chrono::milliseconds(part % 3));
      --running;
      if (part >= first) throw std::runtime_error(std::to_string(part));
    });
  } catch (const std::runtime_error& error) {
    outcome.thrown = error.what();
  }
  outcome.begun = begun;
  outcome.running = running;
  return outcome;
}

TEST(ThreadTeam, AnExceptionOfAnyThreadReachesTheCallerWhenNoPartRuns) {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    for (const std::size_t first : {std::size_t{0}, std::size_t{7}, kParts - 1}) {
      const Outcome outcome = outcome_of(team, first);
      EXPECT_EQ(outcome.thrown, std::to_string(first)) << threads << " threads";
      EXPECT_EQ(outcome.running, 0) << threads << " threads";
      // No thread begins a part after the exception but one that it had taken.
      EXPECT_GE(outcome.begun, first + 1);
      EXPECT_LE(outcome.begun, first + static_cast<std::size_t>(threads));
    }
    const Outcome well = outcome_of(team, kParts);  // the team is of use afterwards
    EXPECT_EQ(well.thrown, "nothing");
    EXPECT_EQ(well.begun, kParts);
  }
}

// Threads with a stack that no address space has room for.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    pthread_getattr_default_np(&old_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 56);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoRoomForThreads() {
    pthread_setattr_default_np(&old_);
    pthread_attr_destroy(&old_);
  }

 private:
  pthread_attr_t old_{};
};

TEST(ThreadTeam, HasFewerThreadsWhereTheSystemStartsNoMore) {
  const NoRoomForThreads no_room;
  ThreadTeam team(4);
  EXPECT_EQ(team.threads(), 1);
  const Outcome outcome = outcome_of(team, kParts);
  EXPECT_EQ(outcome.thrown, "nothing");
  EXPECT_EQ(outcome.begun, kParts);
}

}  // namespace
}  // namespace qsim::golden
