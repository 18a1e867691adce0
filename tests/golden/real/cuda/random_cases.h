// Seeded float networks, what becomes of their tensors and weights, and their inputs.
#pragma once

#include "golden/graph/real/real_executor.h"

namespace qsim::golden_test {

struct RealCase {
  Graph graph;
  golden::RealExecutorOptions options;
  Tensor input;
};

// Half of the cases have rules, a third integer weights, some infinities and NaNs in the input.
// `is_small`: no layer takes more than some thousand products.
RealCase random_real_case(std::uint64_t seed, bool is_small);

}  // namespace qsim::golden_test
