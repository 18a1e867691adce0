// Fold bubbles: cycles in which an EXECUTE occupies the array and no pixel streams, because its
// folds have fewer pixels than the array has rows.
#pragma once

#include "core/timing_model.h"

namespace qsim {

// Among the first `cycles` cycles of an EXECUTE's occupancy.
inline std::uint64_t bubbles_before(const ExecuteTerms& terms, std::uint64_t cycles) {
  const std::uint64_t in_fold = cycles % terms.fold_period;
  return cycles / terms.fold_period * (terms.fold_period - terms.pixels) +
         (in_fold > terms.pixels ? in_fold - terms.pixels : 0);
}

}  // namespace qsim
