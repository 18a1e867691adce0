// The threads of a call: the caller's qsim_threads, or the calling thread alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "golden/common/thread_team.h"
#include "include/qsim/golden.h"

struct qsim_threads {
  explicit qsim_threads(int count) : team(count) {}
  qsim::golden::ThreadTeam team;
};

namespace qsim::golden::c_interface {

class CallThreads {
 public:
  explicit CallThreads(const qsim_run& run) : given_(run.threads) {
    if (given_ == nullptr) own_.emplace(1);
  }
  ThreadTeam& team() { return given_ == nullptr ? *own_ : given_->team; }

 private:
  qsim_threads* given_;
  std::optional<ThreadTeam> own_;
};

// Divides 0..items - 1 among the threads: work(begin, end) of each part, of which there is one at
// least.
template <typename Work>
void divide(ThreadTeam& team, std::int64_t items, const Work& work) {
  const auto parts = std::clamp<std::int64_t>(items, 1, team.threads());
  team.run(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto index = static_cast<std::int64_t>(part);
    work(items * index / parts, items * (index + 1) / parts);
  });
}

}  // namespace qsim::golden::c_interface
