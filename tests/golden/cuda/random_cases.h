// Random graphs for the CUDA golden: everything that golden/graph/cpu takes, and often the shapes
// that the fast kernels take.
#pragma once

#include <string>

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

struct RandomCase {
  std::string kind;  // "conv_fast"
  Graph graph;       // valid
  Tensor input;
};

// The same arguments give the same case everywhere. Most layers take up to about `most_macs`
// multiply-accumulates, some eight times as many.
RandomCase random_case(std::uint64_t seed, std::int64_t most_macs);

// The input and every layer, one a line: "conv1: conv2d 3x3 stride 1x1 pads 1,1,1,1 rounding 1
// shift 9 clamp -128..127 to [2, 14, 14, 64] int8 zero_point 0".
std::string graph_text(const Graph& graph);

}  // namespace qsim::golden_test
