// The values of one EXECUTE: every fold of the command on real bytes of the scratchpads, as
// core/machine/isa/commands.h defines it. It works per command, not per PE and cycle, and takes no
// time.
//
// Vector paths first re-lay both operands (array_operands.h), so that the inner loop is the same
// for every kernel size, stride and padding; then they keep a block of psums in registers over all
// folds. int32 addition wraps and so may be done in any order.
#pragma once

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"
#include "sim/systemc/datapath/array_operands.h"
#include "sim/systemc/datapath/scratchpads.h"
#include "sim/systemc/datapath/vector_path.h"

namespace qsim::sim {

class ArrayKernel {
 public:
  explicit ArrayKernel(VectorPath path) : path_(path) {}

  // Throws InternalError when the command leaves a memory.
  void execute(const Execute& execute, const ArchConfig& arch, Scratchpads& scratchpads);

 private:
  VectorPath path_;
  ArrayOperands operands_;  // kept for its storage
};

}  // namespace qsim::sim
