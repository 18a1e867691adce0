// The clock of one-threaded measurements: on an idle machine it is wall time, and a busy neighbour
// disturbs it less.
#pragma once

#include <ctime>
#include <functional>

namespace qsim::bench {

// CPU time that this process has taken, in seconds.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// What one call of work takes of it.
template <typename Work>
double cpu_seconds_of(const Work& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

// Says yes once this process has taken `seconds` more.
inline std::function<bool()> cpu_budget(double seconds) {
  return [end = cpu_seconds() + seconds] { return cpu_seconds() > end; };
}

}  // namespace qsim::bench
