// The Cholesky factorisation of a symmetric positive definite matrix, in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "golden/common/thread_team.h"

namespace qsim::quantize {

// The lower triangle with its diagonal, row-major in a square of `size`; what lies above is not
// used.
struct Triangle {
  std::int64_t size = 0;
  std::vector<double> values;

  explicit Triangle(std::int64_t length);
  double* row(std::int64_t index) { return values.data() + index * size; }
  const double* row(std::int64_t index) const { return values.data() + index * size; }
};

// From A (its lower triangle) to L in its place, A = L L^T. size^3 / 6 products and sums, in blocks
// of 64 columns; the same bits for any number of threads. Returns whether A was positive definite;
// if not, the values are of no use.
bool factor(Triangle& matrix, golden::ThreadTeam& team);

// sum of a[i] * b[i], in eight lanes that are added at the end.
double dot(const double* a, const double* b, std::int64_t count);

}  // namespace qsim::quantize
