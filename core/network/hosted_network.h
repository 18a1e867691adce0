// A network of which the array runs parts, and a host the rest: float32 numbers, and operators that
// the array does not have. ADR 0025 (docs/adr/software.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "core/network/host_network.h"

namespace qsim {

// What the array runs without the host in between: it reads one tensor of levels and writes one.
struct ArrayPart {
  Graph graph;
  HostValueId input = 0;
  HostValueId output = 0;
  std::vector<std::size_t> nodes;  // of HostNetwork::nodes, in order
};

// A node that the host runs, and why.
struct HostStep {
  std::size_t node = 0;  // of HostNetwork::nodes
  std::string reason;
};

struct HostedNetwork {
  struct Step {
    bool is_array = false;
    std::size_t index = 0;  // of `parts` or of `host_steps`
  };

  HostNetwork network;  // all nodes, those of the array too
  std::vector<ArrayPart> parts;
  std::vector<HostStep> host_steps;
  std::vector<Step> steps;  // in the order in which they run
};

}  // namespace qsim
