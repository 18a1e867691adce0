// The unit that requantizes, clamps and pools psums into the output scratchpad.
#pragma once

#include "sim/systemc/command_unit.h"
#include "sim/systemc/datapath/vector_path.h"

namespace qsim::sim {

class PostUnit : public CommandUnit {
 public:
  PostUnit(const sc_core::sc_module_name& name, RunState& run, SemaphoreBank& semaphores,
           VectorPath path)
      : CommandUnit(name, Unit::kPost, run, semaphores), path_(path) {}

 private:
  void configure(const ArchConfig&) override {}
  CommandTime schedule(const Command& command, std::uint64_t start) override;
  void act_at_start(const Command& command) override;

  VectorPath path_;
};

}  // namespace qsim::sim
