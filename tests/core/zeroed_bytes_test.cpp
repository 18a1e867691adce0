// core/base/zeroed_bytes.h: zeros that stay where they are. (That they take memory when they are
// written is tested in dram_memory_test.cpp.)
#include "core/base/zeroed_bytes.h"

#include <algorithm>
#include <type_traits>

#include <gtest/gtest.h>

namespace qsim {
namespace {

// A copy or a move would leave spans of the bytes, and a size, that are no longer true.
static_assert(!std::is_copy_constructible_v<ZeroedBytes>);
static_assert(!std::is_copy_assignable_v<ZeroedBytes>);
static_assert(!std::is_move_constructible_v<ZeroedBytes>);
static_assert(!std::is_move_assignable_v<ZeroedBytes>);

TEST(ZeroedBytes, AreZeroAtFirstAndHoldWhatIsWritten) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{8} << 20}) {
    ZeroedBytes memory(size);
    const ZeroedBytes& same = memory;
    ASSERT_EQ(memory.bytes().size(), size);
    EXPECT_EQ(same.bytes().data(), memory.bytes().data());
    EXPECT_EQ(std::ranges::count(same.bytes(), std::byte{0}), std::ptrdiff_t(size));
    std::ranges::fill(memory.bytes(), std::byte{0x5A});
    EXPECT_EQ(std::ranges::count(same.bytes(), std::byte{0x5A}), std::ptrdiff_t(size));
  }
}

TEST(ZeroedBytes, MayBeNone) { EXPECT_TRUE(ZeroedBytes(0).bytes().empty()); }

}  // namespace
}  // namespace qsim
