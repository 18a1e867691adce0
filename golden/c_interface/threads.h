// The threads of a call: the caller's qsim_threads, or the calling thread alone.
#pragma once

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

}  // namespace qsim::golden::c_interface
