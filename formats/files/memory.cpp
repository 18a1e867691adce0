#include "formats/files/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "core/base/checked_math.h"
#include "core/base/error.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMegabyte = 1'000'000;
// Asking the kernel takes some 0.3 ms. The small tensors of a model are judged together.
constexpr std::int64_t kSmallBytes = kMegabyte / 4;

// The number after `key` at the start of a line; `otherwise` where there is none.
std::int64_t number_after(const fs::path& file, const std::string& key, std::int64_t otherwise) {
  std::ifstream stream(file);
  std::string word;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::int64_t value = 0;
    if (words >> word && word == key && words >> value) return value;
  }
  return otherwise;
}

// Reads a file of one number. "max" and a file that is not there set no limit.
std::int64_t number_in(const fs::path& file, std::int64_t otherwise) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  return stream >> value ? value : otherwise;
}

std::int64_t machine_bytes(const MemorySources& sources) {
  const std::int64_t kib = number_after(sources.proc / "meminfo", "MemAvailable:", -1);
  return kib < 0 ? kUnlimited : kib * 1024;
}

// Names of the files in which the two versions of control groups say the same.
struct CgroupFiles {
  const char* limit;
  const char* used;
  const char* reclaimable;  // a key of memory.stat
};
constexpr CgroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr CgroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

std::int64_t left_in(const fs::path& group, const CgroupFiles& files) {
  const std::int64_t limit = number_in(group / files.limit, kUnlimited);
  if (limit == kUnlimited) return kUnlimited;
  const std::int64_t used = number_in(group / files.used, 0);
  const std::int64_t cached = number_after(group / "memory.stat", files.reclaimable, 0);
  return std::max<std::int64_t>(0, limit - used + cached);
}

// A group is bound by those above it as well. In a container `path` may be the one outside, and
// then what can be seen begins at the top.
std::int64_t left_up_from(const fs::path& top, const fs::path& path, const CgroupFiles& files) {
  std::int64_t left = left_in(top, files);
  fs::path group = top;
  for (const fs::path& part : path.relative_path()) {
    group /= part;
    left = std::min(left, left_in(group, files));
  }
  return left;
}

// Lines of /proc/self/cgroup: "0::/user.slice" (version 2), "4:memory:/docker/0123" (version 1).
std::int64_t cgroup_bytes(const MemorySources& sources) {
  std::ifstream stream(sources.proc / "self" / "cgroup");
  std::int64_t left = kUnlimited;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path path = line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(left, left_up_from(sources.cgroup, path, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, left_up_from(sources.cgroup / "memory", path, kVersion1));
    }
  }
  return left;
}

std::int64_t left_of(int resource, std::int64_t used) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return kUnlimited;
  if (limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

// The address space and the data segment, both in pages in /proc/self/statm.
std::int64_t process_bytes(const MemorySources& sources) {
  std::ifstream stream(sources.proc / "self" / "statm");
  std::int64_t size = 0;
  std::int64_t skipped = 0;
  std::int64_t data = 0;
  stream >> size >> skipped >> skipped >> skipped >> skipped >> data;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return std::min(left_of(RLIMIT_AS, size * page), left_of(RLIMIT_DATA, data * page));
}

void require(std::int64_t bytes, std::int64_t available, const std::string& what) {
  if (bytes <= available) return;
  throw MemoryError(ExitCode::kBadInput, what + ": needs about " + memory_text(bytes) + "; " +
                                             memory_text(available) +
                                             " are available (docs/reference/limits.md)");
}

}  // namespace

std::int64_t available_memory_bytes(const MemorySources& sources) {
  return std::min({machine_bytes(sources), cgroup_bytes(sources), process_bytes(sources)});
}

std::string memory_text(std::int64_t bytes) {
  const std::int64_t megabytes = (bytes + kMegabyte - 1) / kMegabyte;
  if (megabytes < 1000) return std::to_string(megabytes) + " MB";
  const std::int64_t tenths = (megabytes + 99) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB";
}

std::string memory_limit_text() {
  std::string text;
  for (const auto& [resource, name] : {std::pair{RLIMIT_AS, "-v"}, std::pair{RLIMIT_DATA, "-d"}}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    text += std::string("; ulimit ") + name + " is " +
            memory_text(static_cast<std::int64_t>(limit.rlim_cur));
  }
  return text;
}

void require_memory(std::int64_t bytes, const std::string& what, std::int64_t unbacked_bytes) {
  if (bytes < kSmallBytes) return;
  require(bytes, available_memory_bytes(), what);
  require(checked_add(bytes, unbacked_bytes), process_bytes({}), what);
}

}  // namespace qsim::formats
