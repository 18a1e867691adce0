// Schemes that golden alone runs, to compare with the integer-only ones: weight-only, dynamic and
// fake quantization, and small floats. The table of `qsim schemes --modes`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "golden/graph/real/real_executor.h"
#include "quantize/quantizer.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// A float network and how golden executes it.
struct ModeNetwork {
  Graph graph;
  golden::RealExecutorOptions options;
};

struct ModeRow {
  std::string mode;         // "float", "weight_only", "dynamic", "fake"
  std::string weights;      // "int8 channel", "log2 4", "e4m3", ...
  std::string activations;  // "float", "uint8", "log2 4", "e4m3", ...
  std::function<ModeNetwork(const Graph&, const std::vector<TensorStatistics>&)> make;
};

// The float network first. Uniform and log2 schemes choose ranges by least squared error; small
// floats have the scale that puts a tensor's largest number on the format's largest (E4M3, E5M2),
// or none (bfloat16, TensorFloat-32, float16). The input keeps 8 uniform bits but for small floats.
std::vector<ModeRow> mode_catalogue();

}  // namespace qsim::quantize
