// Checks that there is memory before something large is allocated. Linux gives out more memory than
// it has, and kills a process that uses it. So large allocations ask first, and a run that would
// not fit is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace qsim::formats {

// Too little memory here and now: what was asked for is right, and runs where there is more.
class MemoryError : public Error {
 public:
  using Error::Error;
};

// The files in which the kernel says how much there is; tests bring their own.
struct MemorySources {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = "/sys/fs/cgroup";
};

// What this process can still take: the least of MemAvailable, what its control groups (v1, v2)
// leave, and what RLIMIT_AS and RLIMIT_DATA leave. Very large where nothing is said.
std::int64_t available_memory_bytes(const MemorySources& sources = {});

// Throws MemoryError (exit code 3), "WHAT: needs about 5.2 GB; 2.1 GB are available
// (docs/reference/limits.md)", unless there is memory for so many bytes more than the process has
// now. A small number of bytes is not judged. `unbacked_bytes` are room that has no memory in it:
// pages not yet written, or freed on the way (core/base/page_release.h). Only RLIMIT_AS and
// RLIMIT_DATA count them.
void require_memory(std::int64_t bytes, const std::string& what, std::int64_t unbacked_bytes = 0);

// "5.2 GB", "310 MB"
std::string memory_text(std::int64_t bytes);

// "; ulimit -v is 30 MB" where this process has such a limit, or one of `ulimit -d`; "" without.
std::string memory_limit_text();

}  // namespace qsim::formats
