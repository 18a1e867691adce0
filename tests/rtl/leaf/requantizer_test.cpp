// qsim_requantizer, as Verilator reads it, equals core/numerics/requantizer.h and
// core/numerics/adder.h: a stream of words with gaps, each column with its own psum, bias,
// multiplier and shift. The proof of its functions over all inputs is in rtl/formal; it takes them
// as Yosys reads them.
#include "core/numerics/requantizer.h"

#include <array>
#include <cstddef>
#include <deque>

#include <Vrequantizer.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include "core/machine/isa/adder_block.h"
#include "tests/core/requantizer_oracle.h"

namespace qsim::test {
namespace {

constexpr int kCols = 2;
constexpr int kLatencyCycles = 5;

// What the unit is given in one cycle.
struct Word {
  std::array<std::int32_t, kCols> psums{};
  std::array<std::int32_t, kCols> biases{};
  std::array<Requantizer, kCols> requantizers{};
  RequantizerRounding rounding = RequantizerRounding::kHalfEven;
  std::int32_t zero_point = 0;
  std::int32_t lo = -128;
  std::int32_t hi = 127;
  bool add = false;  // one of two words that become one: operand b's, then operand a's
  bool second = false;
  PsumAdder adder;
  std::array<std::int32_t, kCols> first_psums{};  // of the second word: operand b's

  // The level of column c, for a word that has levels of its own.
  std::int32_t expected(int c) const {
    if (add) {
      return add_psums(psums[static_cast<std::size_t>(c)], first_psums[static_cast<std::size_t>(c)],
                       adder, zero_point, lo, hi);
    }
    Requantizer r = requantizers[static_cast<std::size_t>(c)];
    r.rounding = rounding;
    return requantize(psums[static_cast<std::size_t>(c)], biases[static_cast<std::size_t>(c)], r,
                      zero_point, lo, hi);
  }
};

std::uint64_t join(std::uint64_t low, std::uint64_t high, int bits) { return low | high << bits; }

class Bench {
 public:
  Bench() : unit_(&context_) {
    unit_.rst_ni = 0;
    cycle();
    unit_.rst_ni = 1;
  }

  // Gives `word`, or garbage in a cycle without one, and checks what leaves the unit.
  void give(const Word& word, bool valid) {
    unit_.valid_i = valid;
    unit_.psums_i = join(static_cast<std::uint32_t>(word.psums[0]),
                         static_cast<std::uint32_t>(word.psums[1]), 32);
    unit_.biases_i = join(static_cast<std::uint32_t>(word.biases[0]),
                          static_cast<std::uint32_t>(word.biases[1]), 32);
    unit_.multipliers_i =
        join(word.requantizers[0].multiplier, word.requantizers[1].multiplier, kMultiplierBits);
    unit_.shifts_i =
        static_cast<SData>(join(static_cast<std::uint64_t>(word.requantizers[0].shift),
                                static_cast<std::uint64_t>(word.requantizers[1].shift), 6));
    unit_.rounding_i = static_cast<CData>(word.rounding);
    unit_.range_i = static_cast<IData>((word.hi & 0xff) << 16 | (word.lo & 0xff) << 8 |
                                       (word.zero_point & 0xff));
    std::array<std::byte, kAdderBlockBytes> block{};
    write_adder(block, word.adder);
    const std::size_t operand = word.second ? 0 : 4;
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(block[i]); };
    unit_.add_i = word.add;
    unit_.second_i = word.second;
    unit_.plus_128_i = (byte(operand + 3) >> 7) & 1;
    unit_.left_shift_i = byte(operand + 3) & 31;
    unit_.multiplier_i = byte(operand) | byte(operand + 1) << 8 | byte(operand + 2) << 16;
    unit_.fixed_i = static_cast<std::uint64_t>(word.adder.adder.fixed) & ((1ULL << 58) - 1);
    if (valid) pending_.push_back({word, cycles_ + kLatencyCycles});
    cycle();
    ++cycles_;
    check();
  }

  void drain() {
    for (int i = 0; i < kLatencyCycles; ++i) give({}, false);
    EXPECT_TRUE(pending_.empty());
  }

 private:
  struct Pending {
    Word word;
    std::int64_t due_cycle;
  };

  void cycle() {
    unit_.clk_i = 0;
    unit_.eval();
    unit_.clk_i = 1;
    unit_.eval();
  }

  void check() {
    const bool due = !pending_.empty() && pending_.front().due_cycle == cycles_;
    ASSERT_EQ(unit_.valid_o != 0, due) << "cycle " << cycles_;
    if (!due) return;
    const Word word = pending_.front().word;
    pending_.pop_front();
    if (word.add && !word.second) return;
    for (int c = 0; c < kCols; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const auto level = static_cast<std::int8_t>(unit_.levels_o >> (8 * c));
      ASSERT_EQ(level, word.expected(c))
          << "column " << c << ": psum " << word.psums[i] << " bias " << word.biases[i]
          << " multiplier " << word.requantizers[i].multiplier << " shift "
          << word.requantizers[i].shift << " rounding " << static_cast<int>(word.rounding)
          << " zero_point " << word.zero_point << " lo " << word.lo << " hi " << word.hi;
    }
  }

  VerilatedContext context_;
  Vrequantizer unit_;
  std::deque<Pending> pending_;
  std::int64_t cycles_ = 0;
};

Word random_word(Random& random) {
  Word word;
  for (std::size_t c = 0; c < kCols; ++c) {
    word.psums[c] = random_psum(random);
    word.biases[c] = random.chance(0.5) ? 0 : random_psum(random);
    const std::int64_t t = std::int64_t{word.psums[c]} + word.biases[c];
    word.requantizers[c] =
        t != 0 && random.chance(0.6) ? near_tie(random, t) : random_requantizer(random);
  }
  const auto byte = [&] { return static_cast<std::int32_t>(random.uniform(-128, 127)); };
  word.rounding = static_cast<RequantizerRounding>(random.uniform(0, 3));
  word.zero_point = byte();
  word.lo = byte();
  word.hi = static_cast<std::int32_t>(random.uniform(word.lo, 127));
  if (random.chance(0.7)) {
    word.lo = -128;
    word.hi = 127;
  }
  return word;
}

// Two words of an addition; ratios and constants whose sums are often ties.
std::array<Word, 2> random_addition(Random& random) {
  Word word = random_word(random);
  word.add = true;
  const auto ratio = [&] {
    const std::int64_t multiplier =
        random.chance(0.5) ? std::int64_t{1} << random.uniform(20, 23) : random_multiplier(random);
    return multiplier << random.uniform(random.chance(0.2) ? 0 : 12, random.chance(0.2) ? 23 : 17);
  };
  std::int64_t fixed = random.uniform(-400, 400) * (std::int64_t{1} << 38);
  if (random.chance(0.7))
    fixed += static_cast<std::int64_t>(random.next()) >> random.uniform(10, 63);
  word.adder = {{ratio(), ratio(), fixed, word.rounding}, random.chance(0.5), random.chance(0.5)};
  Word second = word;
  second.second = true;
  for (std::size_t c = 0; c < kCols; ++c) {
    second.first_psums[c] = word.psums[c];
    second.psums[c] = random_psum(random);
  }
  return {word, second};
}

// Words that are added, and other words between the pairs; the post unit gives a pair's words in
// two cycles that follow each other, but a gap must not matter.
TEST(RequantizerRtl, AStreamOfAdditionsEqualsTheContract) {
  constexpr std::uint64_t kSeed = 15;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Bench bench;
  for (int i = 0; i < 200'000; ++i) {
    for (const Word& word : random_addition(random)) {
      while (random.chance(0.1)) bench.give(random_word(random), false);
      bench.give(word, true);
    }
    if (random.chance(0.3)) bench.give(random_word(random), true);
    if (testing::Test::HasFatalFailure()) return;
  }
  bench.drain();
}

TEST(RequantizerRtl, AStreamOfRandomWordsEqualsTheContract) {
  constexpr std::uint64_t kSeed = 14;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Bench bench;
  for (int i = 0; i < 700'000; ++i) {
    bench.give(random_word(random), random.chance(0.85));
    if (testing::Test::HasFatalFailure()) return;
  }
  bench.drain();
}

// Each shift and rounding at the ends of psums and multipliers, around powers of two and ties.
TEST(RequantizerRtl, EndsAndTiesEqualTheContract) {
  Bench bench;
  for (int shift = 0; shift <= kMostRequantizerShift; ++shift) {
    for (const std::uint32_t multiplier : {kLeastMultiplier, kMostMultiplier, 0xC0'0000u}) {
      for (int rounding = 0; rounding < kAcceleratorRequantizerRoundings; ++rounding) {
        for (int bits = 0; bits <= 31; ++bits) {
          for (int near = -1; near <= 1; ++near) {
            Word word;
            word.rounding = static_cast<RequantizerRounding>(rounding);
            const auto psum = static_cast<std::int32_t>(
                static_cast<std::uint32_t>((std::int64_t{1} << bits) + near));
            word.psums = {psum, static_cast<std::int32_t>(-std::int64_t{psum})};
            word.biases = {bits == 31 ? INT32_MIN : 0, near == 0 ? INT32_MAX : 0};
            word.requantizers = {Requantizer{multiplier, shift, word.rounding},
                                 Requantizer{multiplier, shift, word.rounding}};
            bench.give(word, true);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
  bench.drain();
}

}  // namespace
}  // namespace qsim::test
