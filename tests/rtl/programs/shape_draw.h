// Random shapes of EXECUTE and POST that fall into wanted coverage bins, without addresses.
#pragma once

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "tests/rtl/programs/coverage_bins.h"

namespace qsim {

// What a shape may cost.
struct ExecuteLimits {
  std::int64_t cycles = 400;  // folds x fold period, where the bins allow it
  std::int64_t min_pixels = 1;
  std::int64_t max_pixels = 64;
  std::int64_t act_words = 400;  // from the first to the last activation word read
};

// Fits the slots of `arch`. Smaller kernels than wanted where a weight slot is too small for those,
// and one fold of few pixels where nothing else fits.
Execute draw_execute(Random& random, const ArchConfig& arch, const ExecuteBins& wanted,
                     const ExecuteLimits& limits);

// Reads at most `psums` words from the first to the last, and takes about `cycles` at most. Falls
// back to a single psum when the bin needs more psums than there are.
Post draw_post(Random& random, const ArchConfig& arch, PoolBin bin, std::int64_t psums,
               std::int64_t cycles);

// The rounding mode, zero-point and clamp of a POST; and whether it adds and looks up.
void draw_epilogue(Random& random, const ArchConfig& arch, Post& post);

}  // namespace qsim
