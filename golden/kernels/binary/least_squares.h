// The coefficients of +1 and -1 bases that are nearest to given numbers, by normal equations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qsim::golden {

// Minimises |w - sum of alpha_i B_i|^2. `gram` [bases][bases] has the integers B_i . B_j, whose
// diagonal is the number of elements; `products` [bases] has B_i . w. The bases must be thresholds
// of one list of numbers. A base that is plus or minus an earlier one has coefficient 0. The others
// are solved by elimination in ascending order, without exchanging rows, in double.
std::vector<double> solve_bases(std::span<const std::int64_t> gram,
                                std::span<const double> products);

}  // namespace qsim::golden
