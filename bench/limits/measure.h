// What one vector path takes for a network, beside what this machine needs for the least work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/machine/arch_config.h"
#include "core/machine/engine.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"

namespace qsim::bench {

// Samples of CPU time in seconds, one a round. The parts of a round are measured in turn, so that
// a machine that slows down slows all of them.
struct PathMeasurement {
  std::string network;
  golden::VectorPath path = golden::VectorPath::kAuto;
  double macs = 0;
  std::size_t simulate_bytes = 0;  // that the commands move between DRAM and scratchpads
  std::size_t golden_bytes = 0;    // weights, input and every layer's output
  std::vector<double> multiply;    // all macs, at the rate of the path's instructions
  std::vector<double> copy;        // simulate_bytes
  std::vector<double> read;        // golden_bytes
  std::vector<double> simulate;
  std::vector<double> golden;
};

// `path` must be available, and `engine` of the same path.
PathMeasurement measure(Engine& engine, golden::VectorPath path, const ArchConfig& arch,
                        const formats::Workload& workload);

// a[i] + b[i], a[i] / b[i]
std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace qsim::bench
