// What memory there is, by the kernel's word.
#include "formats/files/memory.h"

#include <sys/resource.h>

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;

// A machine with 1,000 MiB available, and control groups that a test adds.
class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    fs::create_directories(sources_.proc / "self");
    put("proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable:    1024000 kB\n");
    put("proc/self/statm", "10 5 3 1 0 4 0\n");
  }

  void put(const std::string& name, const std::string& content) {
    fs::create_directories((folder_.path() / name).parent_path());
    folder_.file(name, content);
  }
  std::int64_t available() const { return available_memory_bytes(sources_); }

  TemporaryFolder folder_;
  MemorySources sources_{folder_.path() / "proc", folder_.path() / "cgroup"};
};

TEST_F(MemoryTest, WithoutGroupsIsWhatTheMachineHas) { EXPECT_EQ(available(), 1000 * kMiB); }

TEST_F(MemoryTest, GroupOfVersion2LeavesItsRest) {
  put("proc/self/cgroup", "0::/slice/job\n");
  put("cgroup/slice/job/memory.max", "max\n");
  put("cgroup/slice/memory.max", std::to_string(500 * kMiB) + "\n");
  put("cgroup/slice/memory.current", std::to_string(300 * kMiB) + "\n");
  EXPECT_EQ(available(), 200 * kMiB);
  put("cgroup/slice/memory.stat", "anon 1\ninactive_file " + std::to_string(40 * kMiB) + "\n");
  EXPECT_EQ(available(), 240 * kMiB);  // file pages that would be given back
  put("cgroup/slice/job/memory.max", std::to_string(50 * kMiB) + "\n");
  EXPECT_EQ(available(), 50 * kMiB);
}

TEST_F(MemoryTest, GroupOfVersion1AsWell) {
  put("proc/self/cgroup", "3:cpu,cpuacct:/a\n4:memory:/docker/x\n");
  put("cgroup/memory/docker/x/memory.limit_in_bytes", std::to_string(100 * kMiB));
  put("cgroup/memory/docker/x/memory.usage_in_bytes", std::to_string(130 * kMiB));
  EXPECT_EQ(available(), 0);
  put("cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(available(), 1000 * kMiB);
}

// In a container the path is the one outside; what can be seen is the container's own top.
TEST_F(MemoryTest, PathThatIsNotThereCountsFromTheTop) {
  put("proc/self/cgroup", "0::/somewhere/else\n");
  put("cgroup/memory.max", std::to_string(70 * kMiB));
  EXPECT_EQ(available(), 70 * kMiB);
}

TEST_F(MemoryTest, LimitOfTheProcessCounts) {
  rlimit old{};
  ::getrlimit(RLIMIT_DATA, &old);
  const rlimit limit{900 * kMiB, old.rlim_max};
  ::setrlimit(RLIMIT_DATA, &limit);
  const std::int64_t left = available();
  std::string message = error_of([] { require_memory(901 * kMiB, "'m'"); });
  ::setrlimit(RLIMIT_DATA, &old);
  EXPECT_EQ(left, 900 * kMiB - 4 * ::sysconf(_SC_PAGESIZE));
  expect_contains(message, "'m': needs about 945 MB; ");
  expect_contains(message, " are available (docs/reference/limits.md)");
}

TEST_F(MemoryTest, NothingSaidIsNoLimit) {
  const MemorySources nothing{folder_.path() / "none", folder_.path() / "none"};
  EXPECT_GT(available_memory_bytes(nothing), std::int64_t{1} << 50);
  EXPECT_GT(available_memory_bytes(), 0);  // here
}

TEST(MemoryText, IsRoundedUpToWhatPeopleRead) {
  EXPECT_EQ(memory_text(1), "1 MB");
  EXPECT_EQ(memory_text(310'000'000), "310 MB");
  EXPECT_EQ(memory_text(999'000'001), "1.0 GB");
  EXPECT_EQ(memory_text(5'160'000'000), "5.2 GB");
}

TEST(RequireMemory, AllThatThereIsMayBeTaken) {
  require_memory(1, "small");
  expect_contains(error_of([] { require_memory(std::int64_t{1} << 60, "large"); }), "needs about");
}

TEST(RequireMemory, RoomWithoutMemoryCountsAgainstTheLimitsOfTheProcessAlone) {
  const std::int64_t room = std::int64_t{1} << 50;  // more than any machine has
  require_memory(kMiB, "m", room);
  rlimit old{};
  ::getrlimit(RLIMIT_DATA, &old);
  const rlimit limit{rlim_t{1} << 40, old.rlim_max};
  ::setrlimit(RLIMIT_DATA, &limit);
  const std::string message = error_of([&] { require_memory(kMiB, "m", room); });
  ::setrlimit(RLIMIT_DATA, &old);
  expect_contains(message, "m: needs about ");
}

}  // namespace
}  // namespace qsim
