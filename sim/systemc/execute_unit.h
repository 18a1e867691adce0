// The unit that streams folds through the systolic array into the accumulator.
#pragma once

#include "sim/systemc/command_unit.h"
#include "sim/systemc/datapath/array_kernel.h"

namespace qsim::sim {

class ExecuteUnit : public CommandUnit {
 public:
  ExecuteUnit(const sc_core::sc_module_name& name, RunState& run, SemaphoreBank& semaphores,
              VectorPath path)
      : CommandUnit(name, Unit::kExecute, run, semaphores), array_(path) {}

 private:
  void configure(const ArchConfig&) override {}
  CommandTime schedule(const Command& command, std::uint64_t start) override;
  std::uint64_t unit_ready(const Command& next, const CommandTime& before) const override;
  void act_at_start(const Command& command) override;

  Execute last_;  // the last command that started
  ArrayKernel array_;
};

}  // namespace qsim::sim
