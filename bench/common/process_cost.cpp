// process_cost [--runs N] [--name NAME] COMMAND ARGUMENT...
// What a whole process costs: starts COMMAND N times (default 9), one after the other, and prints
// the figures NAME/wall (s) and NAME/peak_memory (bytes, from wait4), medians. Its stdout goes to
// /dev/null. Exit code: 0, or 1 where a run did not end with 0.
// A program of its own, because Linux counts the memory of what forked as the child's until exec:
// the least that can be measured is this program's, some 3 MB, where from Python it would be 20.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/figures.h"
#include "core/base/error.h"

namespace qsim::bench {
namespace {

constexpr int kDefaultRuns = 9;

struct Cost {
  double wall_seconds;
  double peak_memory_bytes;
};

[[noreturn]] void become(char** command) {
  const int null = open("/dev/null", O_WRONLY);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  if (null >= 0) dup2(null, STDOUT_FILENO);
  execvp(command[0], command);
  std::perror(command[0]);
  _exit(127);
}

Cost run_once(char** command) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw_bad_input("fork: " + std::string(std::strerror(errno)));
  if (child == 0) become(command);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) throw_bad_input("wait4: " + std::string(std::strerror(errno)));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InternalError(std::string(command[0]) + " failed: " +
                        (WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                           : "signal " + std::to_string(WTERMSIG(status))));
  }
  return {elapsed.count(), static_cast<double>(usage.ru_maxrss) * 1024};
}

void run(const std::string& name, int runs, char** command) {
  std::vector<double> wall;
  std::vector<double> memory;
  for (int i = 0; i < runs; ++i) {
    const Cost cost = run_once(command);
    wall.push_back(cost.wall_seconds);
    memory.push_back(cost.peak_memory_bytes);
  }
  print_figure(time_figure(name + "/wall", wall));
  print_figure(median_figure(name + "/peak_memory", memory, "bytes", Kind::kMemory));
}

int usage_error() {
  std::fprintf(stderr, "usage: process_cost [--runs N] [--name NAME] COMMAND ARGUMENT...\n");
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace
}  // namespace qsim::bench

int main(int argc, char** argv) {
  std::string name = "process";
  int runs = qsim::bench::kDefaultRuns;
  int next = 1;
  for (; next + 1 < argc && std::strncmp(argv[next], "--", 2) == 0; next += 2) {
    const std::string option = argv[next];
    if (option == "--name") {
      name = argv[next + 1];
    } else if (option == "--runs") {
      runs = std::atoi(argv[next + 1]);
    } else {
      return qsim::bench::usage_error();
    }
  }
  if (next >= argc || runs < 1) return qsim::bench::usage_error();
  try {
    qsim::bench::run(name, runs, argv + next);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "process_cost: %s\n", error.what());
    return static_cast<int>(qsim::ExitCode::kInternal);
  }
}
