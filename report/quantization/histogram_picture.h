// Pictures of a quantization report as SVG in HTML.
#pragma once

#include <optional>
#include <string>

#include "report/quantization/quantization_report.h"

namespace qsim::report {

// The bins as bars, heights by the logarithm of the count; with `range`, what the integers cover is
// shaded, and its ends are marked. `label` is read to those who do not see it.
std::string histogram_picture(const HistogramOfTensor& histogram,
                              const std::optional<QuantizedRange>& range, const std::string& label);

// The SQNR of each layer's ofmap as a bar.
std::string sqnr_picture(const QuantizationReport& report);

}  // namespace qsim::report
