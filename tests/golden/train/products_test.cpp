// The innermost loops of training on every instruction set that this processor has: the bits of
// plain loops.
#include "golden/kernels/train/products.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/kernels/train/pair_products.h"

namespace qsim::golden_test {
namespace {

using golden::VectorPath;
using golden::train::LevelPair;
using golden::train::PairProducts;
using golden::train::Products;

std::vector<float> random_floats(Random& random, std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) {
    number = static_cast<float>(random.uniform(-99999, 99999)) * 0x1p-9F;
  }
  return numbers;
}

std::vector<float> plain(const Products& p, std::vector<float> sums) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t c = 0; c < p.lanes; ++c) {
      float sum = p.adds ? sums[static_cast<std::size_t>(r * p.lanes + c)] : 0;
      for (std::int64_t k = 0; k < p.depth; ++k) {
        const float product = p.a[r * p.a_row + k * p.a_step] * p.b[k * p.b_step + c];
        sum = sum + product;
      }
      sums[static_cast<std::size_t>(r * p.lanes + c)] = sum;
    }
  }
  return sums;
}

void expect_plain_bits(VectorPath path) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Products p;
    p.lanes = random.chance(0.5) ? 8 : 32;
    p.rows = random.uniform(1, golden::train::kMostRows);
    p.depth = random.uniform(0, 70);
    p.adds = random.chance(0.5);
    p.a_step = random.uniform(1, 5);
    p.a_row = random.uniform(1, 90);
    p.b_step = p.lanes * random.uniform(1, 3);
    const auto a = random_floats(random, p.a_row * 4 + p.a_step * 71);
    const auto b = random_floats(random, p.b_step * 71);
    auto sums = random_floats(random, p.rows * p.lanes + 1);
    p.a = a.data();
    p.b = b.data();
    p.sums = sums.data();
    const std::vector<float> expected = plain(p, sums);
    multiply(p, path);
    EXPECT_EQ(sums, expected) << "seed " << seed;
  }
}

// By 64 bits, of which the sums are the low ones.
void expect_exact_sums(VectorPath path) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::int64_t most = random.chance(0.5) ? 255 : 32767;  // the latter's sums wrap
    const auto factor = [&] { return static_cast<std::int16_t>(random.uniform(-most, most)); };
    PairProducts p;
    p.lanes = random.chance(0.5) ? 8 : 32;
    p.rows = random.uniform(1, golden::train::kMostRows);
    p.pairs = random.uniform(0, 40);
    p.a_row = 2 * p.pairs + random.uniform(0, 9);
    std::vector<std::int16_t> a(static_cast<std::size_t>(p.a_row * p.rows));
    std::generate(a.begin(), a.end(), factor);
    std::vector<LevelPair> b(static_cast<std::size_t>(p.pairs * p.lanes));
    std::generate(b.begin(), b.end(), [&] { return LevelPair{factor(), factor()}; });
    std::vector<std::int32_t> sums(static_cast<std::size_t>(p.rows * p.lanes + 1), 77);
    std::vector<std::int32_t> expected = sums;
    p.a = a.data();
    p.b = b.data();
    p.sums = sums.data();
    for (std::int64_t i = 0; i < p.rows * p.lanes; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < p.pairs; ++k) {
        const std::int16_t* pair = p.a + i / p.lanes * p.a_row + 2 * k;
        const LevelPair& other = p.b[k * p.lanes + i % p.lanes];
        sum += std::int64_t{pair[0]} * other.even + std::int64_t{pair[1]} * other.odd;
      }
      expected[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(sum);
    }
    multiply(p, path);
    EXPECT_EQ(sums, expected) << "seed " << seed;
  }
}

TEST(TrainProducts, EveryInstructionSetHasTheBitsOfPlainLoops) {
  for (const VectorPath path : golden::kVectorPaths) {
    if (!golden::is_available(path)) continue;
    SCOPED_TRACE(std::string(golden::vector_path_name(path)));
    expect_plain_bits(path);
    expect_exact_sums(path);
  }
}

}  // namespace
}  // namespace qsim::golden_test
