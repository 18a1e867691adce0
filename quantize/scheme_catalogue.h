// The schemes that people compare, as one list: observers x granularities x ranges x scales. The
// table of `qsim schemes`.
#pragma once

#include <string>
#include <vector>

#include "quantize/quantizer.h"

namespace qsim::quantize {

struct CatalogueRow {
  std::string observer;     // clipping_name() of activations; of weights min_max, mse or percentile
  std::string granularity;  // of the weights: "tensor" or "channel"
  std::string range;        // "affine", "symmetric", with "_reduced" the levels are one fewer
  std::string scales;       // "float", "dyadic" or "power_of_two"
  Scheme scheme;
};

// 5 observers x 2 granularities x 4 ranges x 3 scales. Activations uint8, weights int8. The input
// keeps its whole range.
std::vector<CatalogueRow> scheme_catalogue();

}  // namespace qsim::quantize
