// What `qsim quantize` has made in a mode that golden alone runs, and what it says of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/session/quantize/quantize_options.h"
#include "core/network/hybrid_network.h"
#include "golden/common/thread_team.h"
#include "quantize/calibration.h"
#include "quantize/ranges/tensor_error.h"
#include "report/sheet.h"

namespace qsim::cli {

struct HybridErrors {
  std::vector<quantize::TensorError> layers;  // of their outputs, one a layer of the graph
  quantize::TensorError output;
};

// Both networks side by side on the same pictures.
HybridErrors measure_hybrid(const Graph& graph, const HybridNetwork& network,
                            const quantize::CalibrationPictures& pictures,
                            golden::ThreadTeam& team);

struct HybridResult {
  Graph graph;  // float
  HybridNetwork network;
  HybridErrors errors;
  std::string bytes;  // of the file
  std::int64_t float_bytes = 0;
  std::int64_t pictures = 0;
  std::vector<std::pair<std::string, double>> seconds;
};

// Schema qsim.quantize-mode/1: docs/reference/quantize.md. For JSON, or to be printed.
report::Sheet hybrid_sheet(const HybridResult& result, const QuantizeOptions& options, bool json);

}  // namespace qsim::cli
