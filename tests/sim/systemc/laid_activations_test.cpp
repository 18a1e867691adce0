// EXECUTEs that find their activations re-laid by an earlier one: the same psums as those of a
// machine that has no such memory, whatever is written in between.
#include "sim/systemc/datapath/laid_activations.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/systemc/datapath/array_kernel.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {

using namespace sim;
namespace {

// The same random bytes in both machines.
void fill_both_halves(ReferenceMachine& reference, Scratchpads& scratchpads, Random& random) {
  const ArchConfig& arch = reference.arch;
  reference.fill(random);
  std::ranges::copy(reference.activations,
                    scratchpads.written_activations(0, arch.act_words()).begin());
  std::ranges::copy(reference.weights, scratchpads.weights(0, arch.weight_words()).begin());
  for (std::uint32_t half = 0; half < 2; ++half) {
    std::ranges::copy(reference.psums[half],
                      scratchpads.psums(half, 0, arch.accumulator_half_words()).begin());
  }
}

// Up to a tenth of the activation scratchpad.
void overwrite_some(ReferenceMachine& reference, Scratchpads& scratchpads, Random& random) {
  const ArchConfig& arch = reference.arch;
  const std::int64_t count = random.uniform(1, std::max<std::int64_t>(1, arch.act_words() / 10));
  const std::int64_t first = random.uniform(0, arch.act_words() - count);
  const std::span<std::int8_t> words = scratchpads.written_activations(first, count);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<std::int8_t>(random.next());
    reference.activations[static_cast<std::size_t>(first * arch.array_rows) + i] = words[i];
  }
}

class LaidActivationsTest : public testing::TestWithParam<VectorPath> {
 protected:
  void SetUp() override {
    if (!is_supported(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << vector_path_name(GetParam());
    }
  }
};

TEST_P(LaidActivationsTest, RepeatedExecutesSeeEveryWrite) {
  int repeats = 0;
  for (const auto& [rows, cols] : {std::pair(4, 4), std::pair(16, 16), std::pair(8, 64)}) {
    const ArchConfig arch = small_arch(rows, cols);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + ", seed " +
                   std::to_string(seed));
      Random random(seed);
      ReferenceMachine reference(arch);
      Scratchpads scratchpads(arch);
      fill_both_halves(reference, scratchpads, random);
      // More than the cache has entries, so that some come back after they were thrown out.
      std::vector<Execute> commands;
      for (int i = 0; i < 40; ++i) commands.push_back(random_execute(random, arch));
      ArrayKernel kernel(GetParam());
      for (int i = 0; i < 150; ++i) {
        if (random.chance(0.3)) overwrite_some(reference, scratchpads, random);
        Execute execute = commands[static_cast<std::size_t>(random.uniform(0, 39))];
        execute.accumulate = static_cast<std::uint32_t>(random.uniform(0, 1));
        // The same words read in another way.
        if (random.chance(0.2)) {
          execute.pad_value = static_cast<std::int32_t>(random.uniform(-128, 127));
        }
        repeats += scratchpads.laid_activations().find(reading_of(execute)) != nullptr ? 1 : 0;
        reference.execute(execute);
        kernel.execute(execute, arch, scratchpads);
      }
      for (std::uint32_t half = 0; half < 2; ++half) {
        ASSERT_TRUE(std::ranges::equal(reference.psums[half],
                                       scratchpads.psums(half, 0, arch.accumulator_half_words())));
      }
    }
  }
  if (GetParam() == VectorPath::kPortable) {
    EXPECT_EQ(repeats, 0);  // plain loops re-lay nothing
  } else {
    EXPECT_GT(repeats, 100);
  }
}

std::string laid_test_name(const testing::TestParamInfo<VectorPath>& info) {
  return std::string(vector_path_name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Paths, LaidActivationsTest, testing::ValuesIn(kVectorPaths),
                         laid_test_name);

LaidActivations& lay(LaidActivationsCache& cache, std::uint32_t act_addr, std::size_t lanes) {
  Execute reading;
  reading.act_addr = act_addr;
  LaidActivations& laid = cache.begin(reading);
  laid.first_word = act_addr;
  laid.end_word = act_addr + 10;
  laid.lanes.reserve(lanes);
  laid.valid = true;
  return laid;
}

bool holds(LaidActivationsCache& cache, std::uint32_t act_addr) {
  Execute reading;
  reading.act_addr = act_addr;
  return cache.find(reading) != nullptr;
}

TEST(LaidActivationsCache, DropsWhatIsWrittenOverAndNothingElse) {
  LaidActivationsCache cache;
  for (const std::uint32_t address : {0u, 10u, 20u, 30u}) lay(cache, address, 16);
  cache.drop(19, 21);
  EXPECT_TRUE(holds(cache, 0));
  EXPECT_FALSE(holds(cache, 10));
  EXPECT_FALSE(holds(cache, 20));
  EXPECT_TRUE(holds(cache, 30));
  cache.drop(40, 50);
  EXPECT_TRUE(holds(cache, 30));
}

TEST(LaidActivationsCache, ThrowsOutTheOneUsedLongestAgoAndKeepsItsMemoryInBounds) {
  LaidActivationsCache cache;
  for (std::uint32_t i = 0; i < 32; ++i) lay(cache, 10 * i, 16);
  EXPECT_TRUE(holds(cache, 0));
  lay(cache, 1000, 16);
  EXPECT_TRUE(holds(cache, 0));
  EXPECT_FALSE(holds(cache, 10));
  EXPECT_TRUE(holds(cache, 1000));
  lay(cache, 2000, std::size_t{3} << 20);  // alone beyond the bound: all go when the next comes
  lay(cache, 3000, 16);
  EXPECT_FALSE(holds(cache, 2000));
  EXPECT_FALSE(holds(cache, 1000));
  EXPECT_TRUE(holds(cache, 3000));
}

TEST(LaidActivationsCache, TakesTheSameMemoryAgainWhereNothingIsReadTwice) {
  LaidActivationsCache cache;
  const std::uint32_t* lanes = lay(cache, 0, 64).lanes.data();
  cache.drop(0, 10);
  EXPECT_EQ(lay(cache, 500, 64).lanes.data(), lanes);
}

}  // namespace
}  // namespace qsim
