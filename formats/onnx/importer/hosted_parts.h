// Which nodes of a network the array can run, in parts that read one tensor of levels and write
// one; the rest is the host's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/network/hosted_network.h"

namespace qsim::formats {

// The nodes between levels: those that make one tensor of levels from others. With float32 numbers
// in between they are DequantizeLinear, operators and QuantizeLinear.
struct LevelsUnit {
  HostValueId output = 0;
  std::vector<HostValueId> sources;  // levels
  std::vector<std::size_t> nodes;    // of HostNetwork::nodes, ascending
  std::string reason;                // why the host runs it; "" where the array does
};

struct PartPlan {
  HostValueId input = 0;
  HostValueId output = 0;
  std::vector<std::size_t> units;  // in order
};

// The units of a network whose shapes are known, in the order of their outputs. A unit that reads
// something other than levels has a reason.
std::vector<LevelsUnit> levels_units(const HostNetwork& network);

// The largest parts of units without a reason. A value that a node outside the part reads ends it.
// Units that read several tensors, and fit into no part, get a reason.
std::vector<PartPlan> plan_parts(const HostNetwork& network, std::vector<LevelsUnit>& units);

// What runs, in order: the nodes on which the outputs depend, and the parts.
void add_steps(HostedNetwork& network, const std::vector<LevelsUnit>& units);

}  // namespace qsim::formats
