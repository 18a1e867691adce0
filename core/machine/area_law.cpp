#include "core/machine/area_law.h"

#include <algorithm>

namespace qsim {
namespace {

// A field of the configurations that were counted, and its range there.
struct Counted {
  const char* name;
  std::int64_t ArchConfig::*field;
  std::int64_t least;
  std::int64_t most;
};

// clang-format off
// Written by tools/energy/area_law.py.
constexpr std::array<PartLaw, kLawParts> kLaw = {{
    {{0, 0, 200.833, 933.407, 0, 57.531, 107.781, 0, 0, 0, 0},  // array
     {0, 0, -4, 90, 4, 36, 8, 32, 0, 0, 0}},
    {{40.037, 0, 31.415, 0, 0, 0, 0, 63.115, 2.69, 0, 0},  // operands
     {21.638, 12.324, 8.388, 0, 0, 0, 0, 0, 0, 0, 0}},
    {{126.407, 2.408, 562.029, 0, 0, 0, 0, 0, 0, 0, 0},  // accumulate
     {35.454, 2.085, 66.025, 0, 0, 0, 0, 0, 0, 0, 0}},
    {{1990.7, 0, 1532.79, 0, 0, 0, 0, 0, 0, 0, 0},  // post
     {398.778, 0, 198.648, 0, 0, 0, 0, 0, 0, 0, 0}},
    {{5492.23, 0, 0, 0, 0, 0, 0, 0, 0, 1.321, 638.792},  // dma
     {623.971, 0, 0, 0, 0, 0, 0, 0, 0, 7.844, 43.473}},
    {{12175.7, 4.319, 23.895, 0, 0, 0, 0, 0, 0, 0, 0},  // control
     {1217.23, -0.449, 0.655, 0, 0, 0, 0, 0, 0, 0, 0}},
    {{2084.54, 0, 6883.61, 0, 0, 0, 0, 0, 0, 0, 0},  // dyadic_post
     {733.007, 0, 477.998, 0, 0, 0, 0, 0, 0, 0, 0}},
}};
constexpr Counted kCounted[] = {
    {"array_rows", &ArchConfig::array_rows, 4, 16},
    {"array_cols", &ArchConfig::array_cols, 4, 16},
    {"bus_bytes", &ArchConfig::bus_bytes, 4, 16},
};
// End of what is written.
// clang-format on

}  // namespace

LawTerms law_terms(const ArchConfig& arch) {
  const auto rows = static_cast<double>(arch.array_rows);
  const auto cols = static_cast<double>(arch.array_cols);
  const auto bus = static_cast<double>(arch.bus_bytes);
  const double most = std::max(rows, cols);
  return {1,
          rows,
          cols,
          rows * cols,
          rows * (rows - 1),
          cols * cols,
          rows * most,
          std::max(0.0, rows - cols),
          std::max(0.0, cols - rows),
          std::max(0.0, most - bus),
          cols > rows ? 1.0 : 0.0};
}

const std::array<PartLaw, kLawParts>& area_law() { return kLaw; }

std::string beyond_counted(const ArchConfig& arch) {
  std::string text;
  for (const Counted& counted : kCounted) {
    const std::int64_t value = arch.*counted.field;
    if (value >= counted.least && value <= counted.most) continue;
    text += (text.empty() ? "" : ", ") + std::string(counted.name) + " " + std::to_string(value) +
            " (counted: " + std::to_string(counted.least) + " to " + std::to_string(counted.most) +
            ")";
  }
  return text;
}

}  // namespace qsim
