// Threads that divide one piece of work after another among them. They sleep between the pieces.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace qsim::golden {

class ThreadTeam {
 public:
  // `threads` counts the caller's own; 0 is one for each processor that this process may use. Where
  // the system starts no more, there are fewer; threads() says how many.
  explicit ThreadTeam(int threads = 1);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(part) once for each part of 0..parts - 1, on any thread and in any order, under a
  // FloatEnvironment, and returns when all are done. When `work` throws, no further part begins,
  // those that have begun end, and then the exception of the first part that threw comes out. One
  // thread at a time may call run().
  void run(std::size_t parts, const std::function<void(std::size_t)>& work);

 private:
  void serve();
  void take_parts();

  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t parts_ = 0;
  std::size_t next_ = 0;
  std::size_t working_ = 0;  // workers that have not finished this piece
  std::uint64_t piece_ = 0;
  bool stops_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace qsim::golden
