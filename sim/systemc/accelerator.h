// The accelerator: four units around the scratchpads, ordered by semaphores. Built once a process
// (SystemC elaborates once); every run brings its program, memories and array sizes.
#pragma once

#include "sim/systemc/execute_unit.h"
#include "sim/systemc/load_unit.h"
#include "sim/systemc/post_unit.h"
#include "sim/systemc/store_unit.h"

namespace qsim::sim {

class Accelerator : public sc_core::sc_module {
 public:
  Accelerator(const sc_core::sc_module_name& name, VectorPath path);

  // Runs `program` to the end and gives the times of its commands. `scratchpads` and `dram` are
  // null when only time is wanted; `handover`, where there is one, hears of LOADs and STOREs that
  // are done. Throws InternalError for a deadlock, naming who waits for what, and for tokens that
  // do not drain.
  std::array<std::vector<CommandTime>, kUnits> run(const Program& program, Scratchpads* scratchpads,
                                                   DramMemory* dram,
                                                   OfmapHandover* handover = nullptr);

 private:
  void check_all_started() const;  // throws InternalError that says who waits for what

  RunState run_;
  SemaphoreBank semaphores_;
  LoadUnit load_unit_;
  ExecuteUnit execute_unit_;
  PostUnit post_unit_;
  StoreUnit store_unit_;
  std::array<CommandUnit*, kUnits> units_;
};

}  // namespace qsim::sim
