// The dataflows of a random program's EXECUTEs, and their column blocks. It draws apart, so that
// shapes do not depend on it.
#pragma once

#include "core/arch_config.h"
#include "core/isa/commands.h"
#include "core/random.h"

namespace qsim {

// Some programs have one dataflow, some another for each EXECUTE, some a switch at each.
class DataflowDraw {
 public:
  explicit DataflowDraw(std::uint64_t seed);

  // From now on all have the same.
  void keep() { mode_ = kOne; }

  // Sets dataflow and blocks of an EXECUTE whose sizes are set. `psums`: accumulator words that it
  // may have; its folds fit a weight slot.
  void set(const ArchConfig& arch, std::int64_t psums, Execute& e);

 private:
  enum Mode : std::int64_t { kOne, kSwitching, kAny };  // kAny twice as often: 2 and 3

  Random random_;
  std::int64_t mode_;
  std::int64_t dataflow_ = 0;
};

}  // namespace qsim
