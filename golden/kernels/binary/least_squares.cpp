#include "golden/kernels/binary/least_squares.h"

#include <cstdlib>

#include "core/base/error.h"

namespace qsim::golden {
namespace {

// The bases that no earlier one equals up to sign: of |B_i . B_j| = n there is one.
std::vector<std::size_t> distinct_bases(std::span<const std::int64_t> gram, std::size_t bases) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < bases; ++i) {
    bool repeated = false;
    for (const std::size_t j : kept) {
      repeated = repeated || std::llabs(gram[i * bases + j]) == gram[i * bases + i];
    }
    if (!repeated) kept.push_back(i);
  }
  return kept;
}

}  // namespace

// Thresholds t_1 <= t_2 <= .. split the sorted numbers into cells, and B_i is -1 below t_i and +1
// above. The differences of distinct bases are cells between two thresholds, which are linearly
// independent; so the matrix of distinct bases is positive definite, and no pivot is 0.
std::vector<double> solve_bases(std::span<const std::int64_t> gram,
                                std::span<const double> products) {
  const std::size_t bases = products.size();
  QSIM_CHECK(gram.size() == bases * bases, "the Gram matrix has another size");
  const std::vector<std::size_t> kept = distinct_bases(gram, bases);
  const std::size_t n = kept.size();
  std::vector<double> matrix(n * n);
  std::vector<double> right(n);
  for (std::size_t i = 0; i < n; ++i) {
    right[i] = products[kept[i]];
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i * n + j] = static_cast<double>(gram[kept[i] * bases + kept[j]]);
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
      right[i] -= factor * right[k];
    }
  }
  std::vector<double> solution(bases, 0.0);
  for (std::size_t i = n; i-- > 0;) {
    double rest = right[i];
    for (std::size_t j = i + 1; j < n; ++j) rest -= matrix[i * n + j] * solution[kept[j]];
    solution[kept[i]] = rest / matrix[i * n + i];
  }
  return solution;
}

}  // namespace qsim::golden
