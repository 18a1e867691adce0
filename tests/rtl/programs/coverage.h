// Functional coverage of a run: the cross of coverage_bins.h, counted over every pair of a POST and
// an EXECUTE whose psums reach it (also through EXECUTEs that add to them).
//
// The stall bins of such a pair: load, when a LOAD that brought words which the EXECUTE read waited
// for a token; execute and post, when that command itself did; store, when a STORE that takes words
// of the POST did; none, when none of them did. No combination is impossible, so nothing is
// excluded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/machine/engine.h"
#include "tests/rtl/programs/coverage_bins.h"

namespace qsim {

inline constexpr std::size_t kCoverageBins =
    kKernelBins * kStrideBins * kPadBins * kPoolBins * kRoundingBins * kShiftBins * kStallBins;

class Coverage {
 public:
  Coverage() : counts_(kCoverageBins, 0) {}

  // `times` are those of a correct run.
  void add(const Program& program, const std::array<std::vector<CommandTime>, kUnits>& times);
  void add(std::span<const std::uint64_t> counts);

  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::size_t filled() const;
  // "kernel 4-7, stride 2, padding all, pool none, rounding floor, shift 31, stall store"
  std::vector<std::string> empty_bins() const;
  // One line a dimension with the hits of each of its bins.
  std::string table() const;

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace qsim
