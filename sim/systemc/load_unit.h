// The unit that brings tiles from DRAM to the scratchpads and parameter slots.
#pragma once

#include "core/machine/dram_channel.h"
#include "sim/systemc/command_unit.h"

namespace qsim::sim {

class LoadUnit : public CommandUnit {
 public:
  LoadUnit(const sc_core::sc_module_name& name, RunState& run, SemaphoreBank& semaphores)
      : CommandUnit(name, Unit::kLoad, run, semaphores) {}

 private:
  void configure(const ArchConfig& arch) override { read_channel_ = DramChannel(arch); }
  CommandTime schedule(const Command& command, std::uint64_t start) override;
  void act_at_done(const Command& command) override;

  DramChannel read_channel_{ArchConfig{}};
};

}  // namespace qsim::sim
