// One class of a network's output, as reports show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qsim::report {

struct OutputClass {
  std::int64_t index = 0;
  std::string label;                  // "" when the model has no labels
  std::optional<double> probability;  // softmax; absent when the output has no scale
  double score = 0;                   // dequantized, or the raw value when there is no scale
};

}  // namespace qsim::report
