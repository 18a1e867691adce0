// Random graphs with branches: all operations of core/network/operations.h, tensors with several
// readers, additions and concatenations, scales that are not powers of two.
#pragma once

#include "core/base/random.h"
#include "core/network/graph.h"
#include "tests/golden/random_operations.h"

namespace qsim::golden_test {

struct DagOptions {
  OperationLimits operations;
  std::int64_t most_steps = 10;   // each adds one layer or a few; the joins at the end add more
  std::int64_t most_pixels = 11;  // of the input, along one axis
  std::int64_t most_channels = 40;
  std::int64_t most_batch = 3;
};

// A valid graph. Its last layers join all branches.
Graph random_dag(Random& random, const DagOptions& options = {});

}  // namespace qsim::golden_test
