// Where an ofmap of the CUDA golden parts from golden/graph/cpu's.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/network/graph.h"

namespace qsim::golden_test {

struct OfmapDifference {
  std::int64_t bytes = 0;  // that differ; 0: the ofmaps agree
  std::int64_t first = 0;  // index of the first of them
  int got = 0;             // the element there, in the ofmap's dtype
  int expected = 0;
};

// Both of the same length.
OfmapDifference compare_ofmaps(std::span<const std::byte> got, std::span<const std::byte> expected,
                               DType dtype);

// "[0, 3, 2, 17]: got 5, expected 6 (12 of 3456 bytes differ)"; `shape` is the ofmap's.
std::string difference_text(const OfmapDifference& difference, const ImageShape& shape);

// Whether every byte is the same.
bool is_constant(std::span<const std::byte> ofmap);

}  // namespace qsim::golden_test
