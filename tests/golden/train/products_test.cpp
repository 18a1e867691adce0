// The innermost loops of training on every instruction set that this processor has: the bits of
// plain loops.
#include "golden/train/products.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"

namespace qsim::golden_test {
namespace {

template <typename Number>
Number random_number(Random& random) {
  if constexpr (std::is_same_v<Number, float>) {
    return static_cast<float>(random.uniform(-99999, 99999)) * 0x1p-9F;
  } else {
    return static_cast<std::uint32_t>(random.next());
  }
}

template <typename Number>
std::vector<Number> random_numbers(Random& random, std::int64_t count) {
  std::vector<Number> numbers(static_cast<std::size_t>(count));
  for (Number& number : numbers) number = random_number<Number>(random);
  return numbers;
}

template <typename Number>
std::vector<Number> plain(const golden::train::Products<Number>& p, std::vector<Number> sums) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t c = 0; c < p.lanes; ++c) {
      Number sum = p.adds ? sums[static_cast<std::size_t>(r * p.lanes + c)] : Number{0};
      for (std::int64_t k = 0; k < p.depth; ++k) {
        const Number product = p.a[r * p.a_row + k * p.a_step] * p.b[k * p.b_step + c];
        sum = sum + product;
      }
      sums[static_cast<std::size_t>(r * p.lanes + c)] = sum;
    }
  }
  return sums;
}

template <typename Number>
void expect_plain_bits(golden::VectorPath path) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    golden::train::Products<Number> p;
    p.lanes = random.chance(0.5) ? 8 : 32;
    p.rows = random.uniform(1, golden::train::kMostRows);
    p.depth = random.uniform(0, 70);
    p.adds = random.chance(0.5);
    p.a_step = random.uniform(1, 5);
    p.a_row = random.uniform(1, 90);
    p.b_step = p.lanes * random.uniform(1, 3);
    const auto a = random_numbers<Number>(random, p.a_row * 4 + p.a_step * 71);
    const auto b = random_numbers<Number>(random, p.b_step * 71);
    auto sums = random_numbers<Number>(random, p.rows * p.lanes + 1);
    p.a = a.data();
    p.b = b.data();
    p.sums = sums.data();
    const std::vector<Number> expected = plain(p, sums);
    multiply(p, path);
    EXPECT_EQ(sums, expected) << "seed " << seed;
  }
}

TEST(TrainProducts, EveryInstructionSetHasTheBitsOfPlainLoops) {
  for (const golden::VectorPath path : golden::kVectorPaths) {
    if (!golden::is_available(path)) continue;
    SCOPED_TRACE(std::string(golden::vector_path_name(path)));
    expect_plain_bits<float>(path);
    expect_plain_bits<std::uint32_t>(path);
  }
}

}  // namespace
}  // namespace qsim::golden_test
