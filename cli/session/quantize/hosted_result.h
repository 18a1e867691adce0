// What `qsim quantize` has made of a network that the array runs in parts, and what it says of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/session/quantize/quantize_options.h"
#include "core/network/hosted_network.h"
#include "quantize/hosted/host_calibration.h"
#include "report/sheet.h"

namespace qsim::cli {

struct HostedResult {
  HostNetwork network;  // float, folded
  quantize::HostPlan plan;
  std::vector<quantize::TensorStatistics> statistics;  // by value
  quantize::Scheme scheme;
  std::vector<quantize::Quantization> groups;
  quantize::QdqNetwork quantized;
  quantize::HostErrors errors;
  std::string bytes;    // of the file
  HostedNetwork share;  // what the array runs of it
  std::int64_t float_bytes = 0;
  std::int64_t samples = 0;
  std::int64_t measured = 0;  // of them
  std::vector<std::pair<std::string, double>> seconds;
};

// What the host runs, in a line; "" where it runs nothing.
std::string host_note(const HostedResult& result, const std::string& config);

// Schema qsim.quantize-host/1: docs/reference/quantize.md. For JSON, or to be printed.
report::Sheet hosted_sheet(const HostedResult& result, const QuantizeOptions& options, bool json);

}  // namespace qsim::cli
