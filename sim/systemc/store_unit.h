// The unit that writes finished ofmap tiles from the output scratchpad to DRAM.
#pragma once

#include "core/machine/dram_channel.h"
#include "sim/systemc/command_unit.h"

namespace qsim::sim {

class StoreUnit : public CommandUnit {
 public:
  StoreUnit(const sc_core::sc_module_name& name, RunState& run, SemaphoreBank& semaphores)
      : CommandUnit(name, Unit::kStore, run, semaphores) {}

 private:
  void configure(const ArchConfig& arch) override { write_channel_ = DramChannel(arch); }
  CommandTime schedule(const Command& command, std::uint64_t start) override;
  void act_at_done(const Command& command) override;

  DramChannel write_channel_{ArchConfig{}};
};

}  // namespace qsim::sim
