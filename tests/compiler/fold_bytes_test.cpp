// compiler/lowering/fold_bytes.h against one byte at a time, for every size of an array and for
// weights whose rows are neighbours, apart, or neighbours in the next planes.
#include "compiler/lowering/fold_bytes.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace qsim {

using namespace compiler;
namespace {

constexpr unsigned kSeed = 12;
constexpr std::int8_t kUntouched = 77;

std::vector<std::int8_t> random_bytes(std::size_t count) {
  std::mt19937 random(kSeed);
  std::vector<std::int8_t> bytes(count);
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(random());
  return bytes;
}

// The weights of `planes` planes, one byte after the other.
std::vector<std::int8_t> expected(const FoldWeights& fold, std::int64_t planes) {
  std::vector<std::int8_t> bytes;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t r = 0; r < fold.rows; ++r) {
      for (std::int64_t c = 0; c < fold.columns; ++c) {
        bytes.push_back(fold.from[c * fold.pitch + fold.depth[r] + p]);
      }
    }
  }
  bytes.push_back(kUntouched);
  return bytes;
}

// Row r at first + r * step, and columns `pitch` apart.
void expect_packed(std::int64_t rows, std::int64_t columns, std::int64_t step) {
  SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns, step " +
               std::to_string(step));
  constexpr std::int64_t kFirst = 3;
  const std::int64_t pitch = kFirst + rows * step + kPlanesAtOnce;
  const std::vector<std::int8_t> weights = random_bytes(static_cast<std::size_t>(columns * pitch));
  std::vector<std::int64_t> depth;
  for (std::int64_t r = 0; r < rows; ++r) depth.push_back(kFirst + r * step);
  const FoldWeights fold{weights.data(), pitch, depth.data(), rows, columns};

  std::vector<std::int8_t> one(static_cast<std::size_t>(rows * columns + 1), kUntouched);
  pack_fold(fold, one.data());
  EXPECT_EQ(one, expected(fold, 1));

  if (columns % kPlanesAtOnce != 0) return;
  std::vector<std::int8_t> several(static_cast<std::size_t>(kPlanesAtOnce * rows * columns + 1),
                                   kUntouched);
  pack_neighbouring_planes(fold, several.data());
  EXPECT_EQ(several, expected(fold, kPlanesAtOnce));
}

TEST(FoldBytes, AreThoseOfOneByteAtATime) {
  for (std::int64_t rows = 4; rows <= 128; rows *= 2) {
    for (std::int64_t columns = 4; columns <= 128; columns *= 2) {
      for (const std::int64_t step : {1, 2, 49}) expect_packed(rows, columns, step);
    }
  }
}

// Neighbours but for the last row: no square may be taken from the first row's place on.
TEST(FoldBytes, ARowThatIsElsewhereIsTakenFromThere) {
  const std::vector<std::int8_t> weights = random_bytes(16 * 40);
  std::vector<std::int64_t> depth;
  for (std::int64_t r = 0; r < 16; ++r) depth.push_back(r < 15 ? r : 30);
  const FoldWeights fold{weights.data(), 40, depth.data(), 16, 16};
  std::vector<std::int8_t> packed(257, kUntouched);
  pack_fold(fold, packed.data());
  EXPECT_EQ(packed, expected(fold, 1));
}

}  // namespace
}  // namespace qsim
