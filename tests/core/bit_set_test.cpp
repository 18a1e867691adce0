// core/base/bit_set.h against one bool a position.
#include "core/base/bit_set.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace qsim {
namespace {

// The range's first position that is `value`, one position at a time.
std::size_t next_of(const std::vector<bool>& bools, bool value, std::size_t begin,
                    std::size_t end) {
  while (begin < end && bools[begin] != value) ++begin;
  return begin;
}

void expect_same(const BitSet& bits, const std::vector<bool>& bools, std::size_t begin,
                 std::size_t end) {
  for (std::size_t i = 0; i < bools.size(); ++i) ASSERT_EQ(bits[i], bools[i]) << "bit " << i;
  const std::size_t first = next_of(bools, true, begin, end);
  EXPECT_EQ(bits.next_set(begin, end), first) << begin << " to " << end;
  EXPECT_EQ(bits.any(begin, end), first != end) << begin << " to " << end;
  EXPECT_EQ(bits.next_clear(begin, end), next_of(bools, false, begin, end))
      << begin << " to " << end;
  EXPECT_EQ(bits.count(), static_cast<std::size_t>(std::ranges::count(bools, true)));
  if (first == end) return;
  std::size_t last = end - 1;
  while (!bools[last]) --last;
  EXPECT_EQ(bits.last_set(end - 1), last);
}

TEST(BitSet, DoesWhatOneBoolAPositionDoes) {
  constexpr unsigned kSeed = 12;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (const std::size_t size : {1u, 63u, 64u, 65u, 128u, 300u}) {
    BitSet bits(size);
    std::vector<bool> bools(size);
    EXPECT_EQ(bits.size(), size);
    for (int step = 0; step < 500; ++step) {
      std::size_t begin = random() % (size + 1);
      std::size_t end = random() % (size + 1);
      if (begin > end) std::swap(begin, end);
      if (random() % 4 == 0) end = std::min(size, begin + random() % 3);
      const bool value = random() % 2 == 0;
      value ? bits.set(begin, end) : bits.clear(begin, end);
      std::fill(bools.begin() + std::ptrdiff_t(begin), bools.begin() + std::ptrdiff_t(end), value);
      if (random() % 3 == 0) {
        const std::size_t at = random() % size;
        bits.set(at);
        bools[at] = true;
      }
      expect_same(bits, bools, begin, end);
      expect_same(bits, bools, 0, size);
    }
  }
}

TEST(BitSet, MayBeEmpty) {
  const BitSet bits(0);
  EXPECT_EQ(bits.count(), 0u);
  EXPECT_FALSE(bits.any(0, 0));
}

}  // namespace
}  // namespace qsim
