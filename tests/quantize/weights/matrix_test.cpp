// The products and the factorisation that the rounding of weights rests on, against plain loops.
#include "quantize/weights/matrix.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "quantize/weights/cholesky.h"

namespace qsim::quantize {
namespace {

Matrix random_matrix(std::int64_t rows, std::int64_t columns, Random& random) {
  Matrix matrix(rows, columns);
  for (float& value : matrix.values) {
    value = static_cast<float>(random.uniform(-1'000'000, 1'000'000)) * 0x1.0p-17F;
  }
  return matrix;
}

// The order that matrix.h promises, a float32 operation a statement.
float product_element(const Matrix& a, const Matrix& b, std::int64_t row, std::int64_t column) {
  float sum = 0;
  for (std::int64_t first = 0; first < b.rows; first += kProductChunk) {
    float chunk = 0;
    for (std::int64_t k = first; k < std::min(first + kProductChunk, b.rows); ++k) {
      const volatile float product =
          a.row(row)[static_cast<std::size_t>(k)] * b.row(k)[static_cast<std::size_t>(column)];
      chunk += product;
    }
    sum += chunk;
  }
  return sum;
}

TEST(Matrix, AProductHasTheBitsOfPlainLoopsForShapesThatFillNoTile) {
  Random random(1);
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {5, 257, 33},
                                {13, 600, 31},
                                {50, 256, 300},
                                {6, 12, 32}}) {
    const Matrix a = random_matrix(m, k, random);
    const Matrix b = random_matrix(k, n, random);
    Matrix product(m, n);
    golden::ThreadTeam team(2);
    multiply(a, b, product, team);
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        ASSERT_EQ(product.row(row)[static_cast<std::size_t>(column)],
                  product_element(a, b, row, column))
            << m << "x" << k << "x" << n << " at " << row << ", " << column;
      }
    }
  }
}

TEST(Matrix, AGramMatrixIsTheMeanOfProductsAndSymmetricForAnyNumberOfThreads) {
  Random random(2);
  const Matrix samples = random_matrix(100, 70, random);
  golden::ThreadTeam one(1);
  golden::ThreadTeam three(3);
  const Matrix gram = gram_matrix(samples, one);
  EXPECT_EQ(gram, gram_matrix(samples, three));
  EXPECT_EQ(gram, transpose(gram));
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 70; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t s = 0; s < 100; ++s) {
        const double product = double{samples.row(s)[static_cast<std::size_t>(i)]} *
                               double{samples.row(s)[static_cast<std::size_t>(j)]};
        sum += product;
        magnitude += std::abs(product);
      }
      // 100 products, 100 sums, a division: each loses at most 2^-24 of the magnitudes' sum.
      ASSERT_NEAR(gram.row(i)[static_cast<std::size_t>(j)], sum / 100,
                  202 * 0x1p-24 * magnitude / 100);
    }
  }
}

TEST(Matrix, TheGramMatrixOfNoSampleIsZero) {
  golden::ThreadTeam team(1);
  EXPECT_EQ(gram_matrix(Matrix(0, 3), team), Matrix(3, 3));
}

Triangle lower_of(const Matrix& matrix) {
  Triangle triangle(matrix.rows);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j)
      triangle.row(i)[j] = matrix.row(i)[static_cast<std::size_t>(j)];
  }
  return triangle;
}

TEST(Cholesky, TheFactorTimesItsTransposeIsTheMatrix) {
  Random random(3);
  for (const std::int64_t size : {1, 3, 64, 65, 150, 199}) {
    golden::ThreadTeam team(2);
    golden::ThreadTeam alone(1);
    Matrix gram = gram_matrix(random_matrix(2 * size, size, random), team);
    Triangle factored = lower_of(gram);
    Triangle again = factored;
    ASSERT_TRUE(factor(factored, team));
    ASSERT_TRUE(factor(again, alone));
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        ASSERT_EQ(factored.row(i)[j], again.row(i)[j]);
        // Higham, "Accuracy and Stability of Numerical Algorithms", theorem 10.3: the error is at
        // most (size + 1) u |L||L^T|, and |L||L^T| at (i, j) at most sqrt(A_ii A_jj).
        const double exact = gram.row(i)[static_cast<std::size_t>(j)];
        const double bound = static_cast<double>(size + 2) * 0x1p-52 *
                             std::sqrt(double{gram.row(i)[static_cast<std::size_t>(i)]} *
                                       double{gram.row(j)[static_cast<std::size_t>(j)]});
        ASSERT_NEAR(dot(factored.row(i), factored.row(j), j + 1), exact, bound) << size;
      }
    }
  }
}

TEST(Cholesky, AMatrixThatIsNotPositiveDefiniteIsSaidToBeSo) {
  golden::ThreadTeam team(1);
  Triangle singular(2);
  singular.values = {1, 0, 1, 1};
  EXPECT_FALSE(factor(singular, team));
  Triangle negative(1);
  negative.values = {-1};
  EXPECT_FALSE(factor(negative, team));
}

}  // namespace
}  // namespace qsim::quantize
