#include "golden/common/thread_team.h"

#include <algorithm>
#include <exception>

#include "golden/common/float_environment.h"

namespace qsim::golden {
ThreadTeam::ThreadTeam(int threads) {
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int count = threads > 0 ? threads : processors;
  try {
    for (int i = 1; i < count; ++i) workers_.emplace_back([this] { serve(); });
  } catch (const std::exception&) {  // no more threads, or no memory for one: fewer do the work
  }
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  begins_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::run(std::size_t parts, const std::function<void(std::size_t)>& work) {
  const FloatEnvironment environment;
  if (workers_.empty() || parts < 2) {
    for (std::size_t part = 0; part < parts; ++part) work(part);
    return;
  }
  // The parts are taken in their order: when one throws, all before it were taken, and none of the
  // others needs to be. So the first part that throws is the same one in every run.
  std::size_t first = parts;
  std::exception_ptr thrown;
  const auto guarded = [&](std::size_t part) {
    try {
      work(part);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      next_ = parts_;
      if (part > first) return;
      first = part;
      thrown = std::current_exception();
    }
  };
  const std::function<void(std::size_t)> each = std::cref(guarded);  // takes no memory
  {
    const std::lock_guard lock(mutex_);
    work_ = &each;
    parts_ = parts;
    next_ = 0;
    working_ = workers_.size();
    ++piece_;
  }
  begins_.notify_all();
  take_parts();
  {
    std::unique_lock lock(mutex_);
    ends_.wait(lock, [this] { return working_ == 0; });
  }
  if (thrown) std::rethrow_exception(thrown);
}

void ThreadTeam::take_parts() {
  for (;;) {
    std::size_t part;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == parts_) return;
      part = next_++;
    }
    (*work_)(part);
  }
}

void ThreadTeam::serve() {
  const FloatEnvironment environment;
  std::uint64_t done = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      begins_.wait(lock, [&] { return stops_ || piece_ != done; });
      if (stops_) return;
      done = piece_;
    }
    take_parts();
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) ends_.notify_all();
  }
}

}  // namespace qsim::golden
