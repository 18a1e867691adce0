// Makes a failing program small: first its plan, part by part, then its fields and values. Whatever
// is tried is legal, and kept only when it still fails.
#pragma once

#include <functional>

#include "tests/rtl/programs/program_generator.h"

namespace qsim {

using StillFails = std::function<bool(const RandomCase&)>;

struct ShrinkResult {
  RandomCase smallest;
  std::size_t runs = 0;
};

// `plan` must fail. At most `most_runs` programs are run.
ShrinkResult shrink(const ProgramPlan& plan, const StillFails& fails, std::size_t most_runs = 3000);

}  // namespace qsim
