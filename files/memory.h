// Whether memory for what is about to be made is there. Linux gives more than it has and kills the
// process when that is used; so large allocations ask first, and a run that would not fit is an
// error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace qsim {

// Where the kernel says what there is; tests bring their own.
struct MemorySources {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = "/sys/fs/cgroup";
};

// What this process can still take: the least of MemAvailable, what its control groups (v1, v2)
// leave, and what RLIMIT_AS and RLIMIT_DATA leave. Very large where nothing is said.
std::int64_t available_memory_bytes(const MemorySources& sources = {});

// Throws Error (exit code 3), "WHAT: needs about 5.2 GB; 2.1 GB are available
// (docs/reference/limits.md)", unless there is memory for so many bytes more. What is small is not
// looked into.
void require_memory(std::int64_t bytes, const std::string& what);

// The same for all that this process will have in memory at a time, what it has now included.
// `given_back_bytes` are those whose pages go back while it works (core/page_release.h): no memory,
// but they count against RLIMIT_AS and RLIMIT_DATA.
void require_memory_in_all(std::int64_t bytes, std::int64_t given_back_bytes,
                           const std::string& what);

// "5.2 GB", "310 MB"
std::string memory_text(std::int64_t bytes);

}  // namespace qsim
