// Whole pages inside a range go, and no byte outside of it changes.
#include "core/base/page_release.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace qsim {
namespace {

constexpr std::byte kFilled{0x5A};

TEST(ReleasePages, WholePagesAreGoneAndAllOtherBytesStay) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::byte> memory(64 * page, kFilled);
  const std::size_t lead = page - reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  // From within one page to within another: pages 1 to 8 counted from the first boundary.
  const std::size_t begin = lead + page / 2;
  const std::size_t end = lead + 9 * page + page / 2;
  release_pages(std::span(memory).subspan(begin, end - begin));
  const auto resident = [&](std::size_t index) {
    unsigned char in_memory = 0;
    EXPECT_EQ(mincore(memory.data() + lead + index * page, page, &in_memory), 0);
    return (in_memory & 1) != 0;
  };
  EXPECT_TRUE(resident(0));
  for (std::size_t i = 1; i <= 8; ++i) EXPECT_FALSE(resident(i)) << i;
  EXPECT_TRUE(resident(9));
  const auto filled = [](std::byte byte) { return byte == kFilled; };
  EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + std::ptrdiff_t(lead + page), filled));
  EXPECT_TRUE(std::all_of(memory.begin() + std::ptrdiff_t(lead + 9 * page), memory.end(), filled));
  memory[lead + 2 * page] = kFilled;  // may be written again
  EXPECT_EQ(memory[lead + 2 * page], kFilled);
}

TEST(ReleasePages, ARangeWithoutAWholePageChangesNothing) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::byte> memory(3 * page, kFilled);
  const std::size_t lead = page - reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  release_pages(std::span(memory).subspan(lead + 1, page - 1));
  release_pages(std::span(memory).subspan(lead, page - 1));
  release_pages({});
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte byte) { return byte == kFilled; }));
}

}  // namespace
}  // namespace qsim
