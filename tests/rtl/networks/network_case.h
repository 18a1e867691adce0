// A network, compiled, through every engine and golden: what a campaign of random networks
// compares.
#pragma once

#include <optional>
#include <string>

#include "core/graph.h"
#include "tests/rtl/programs/differential.h"

namespace qsim {

struct NetworkCase {
  Graph graph;
  RandomCase program;  // with the name and the input
};

// The graph compiled with tensors that share bytes of DRAM. Throws Error where the accelerator does
// not run it.
NetworkCase compiled_case(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                          const std::string& name);

// A random graph with branches, whose size suits a small array. Nothing where the accelerator does
// not run it.
std::optional<NetworkCase> random_network_case(const ArchConfig& arch, std::uint64_t seed);

// What came of one network. `difference` is "" where every engine agrees in every byte, every
// engine with time in every command's start, free and done, and every ofmap is golden's.
struct CaseResult {
  std::string difference;
  std::uint64_t cycles = 0;
  bool shares_dram = false;  // some tensors have the same bytes
};
CaseResult run_network_case(const NetworkCase& made, Differential& differential);

}  // namespace qsim
