// What `qsim quantize` has made, and its report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/quantize/quantize_options.h"
#include "quantize/layer_errors.h"
#include "report/quantization/quantization_report.h"

namespace qsim::cli {

struct QuantizationResult {
  Graph graph;
  std::vector<quantize::TensorStatistics> statistics;  // one a tensor of the graph
  quantize::Scheme scheme;
  quantize::TensorQuantizations tensors;
  QuantizedNetwork network;
  quantize::NetworkError errors;
  std::string bytes;  // of the file
  std::int64_t float_bytes = 0;
  std::int64_t pictures = 0;
  std::vector<std::pair<std::string, double>> seconds;
  std::optional<report::MixedPrecisionReport> mixed_precision;
};

report::QuantizationReport report_of(const QuantizationResult& result,
                                     const QuantizeOptions& options);

// The options that the network follows from, with their values.
std::vector<std::pair<std::string, std::string>> settings_of(const QuantizeOptions& options);

// A line a layer, for people.
std::string quantization_table(const report::QuantizationReport& report);

// Each layer's bits, and what the search gave.
std::string mixed_precision_text(const report::MixedPrecisionReport& found);

}  // namespace qsim::cli
