#include "core/area_law.h"

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
    {{0, 0, 239.067, 912.368, 0, 60.269, 116.229, 0, 0},  // array
     {0, 0, -7.221, 88.741, 0, 34.376, 14.737, 0, 0}},
    {{-14.757, 28.499, 19.651, 0, 0, 0, 0, 0, 0},  // operands
     {20.079, 12.525, 8.477, 0, 0, 0, 0, 0, 0}},
    {{125.804, 2.401, 562.156, 0, 0, 0, 0, 0, 0},  // accumulate
     {35.877, 2.04, 65.992, 0, 0, 0, 0, 0, 0}},
    {{2000.66, 0, 1530.51, 0, 0, 0, 0, 0, 0},  // post
     {399.892, 0, 198.394, 0, 0, 0, 0, 0, 0}},
    {{5538.36, 0, 0, 0, 0, 0, 0, -10.089, 100.988},  // dma
     {627.194, 0, 0, 0, 0, 0, 0, 6.952, 6.992}},
    {{12307.4, -24.902, 29.639, 0, 0, 0, 0, 0, 0},  // control
     {1224.22, -1.327, 0.432, 0, 0, 0, 0, 0, 0}},
}};
constexpr Counted kCounted[] = {
    {"array_rows", &ArchConfig::array_rows, 4, 8},
    {"array_cols", &ArchConfig::array_cols, 4, 16},
    {"bus_bytes", &ArchConfig::bus_bytes, 4, 8},
    {"outstanding_bursts", &ArchConfig::outstanding_bursts, 16, 16},
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
          rows * rows,
          cols * cols,
          rows * most,
          std::max(0.0, most - bus),
          std::max(0.0, cols - bus)};
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
