// A small layer for every instance of the kernels of convolutions: the tile, and the number of
// multiprocessors that tiles are chosen for, are given, so that the layer need not be large.
#pragma once

#include <string>
#include <vector>

#include "core/network/graph.h"
#include "golden/graph/cuda/graph_executor.h"

namespace qsim::golden_test {

struct InstanceCase {
  std::string name;  // "wgmma.uint8.128.256x64.scale_pool"
  golden::CudaPath path = golden::CudaPath::kPortable;
  golden::CudaChoices choices;
  Graph graph;  // for CudaKeep::kStored, which fuses
};

// Cases of conv_wgmma, on path hopper: each input's dtype, each width of a channel block and number
// of taps of a stage, each tile, each finish; each division of depth.
std::vector<InstanceCase> wgmma_instances();

// Cases of conv_mma, conv_first, conv_depthwise, linear_stream and concat, on path portable.
std::vector<InstanceCase> portable_instances();

}  // namespace qsim::golden_test
