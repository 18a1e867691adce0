#include "sim/systemc/execute_unit.h"

#include "core/machine/timing_model.h"

namespace qsim::sim {

CommandTime ExecuteUnit::schedule(const Command& command, std::uint64_t start) {
  const Execute& execute = std::get<Execute>(command.fields);
  last_ = execute;
  const Duration duration = execute_terms(execute, program().arch).duration();
  return {start, start + duration.occupancy, start + duration.latency};
}

std::uint64_t ExecuteUnit::unit_ready(const Command& next, const CommandTime& before) const {
  return switches_dataflow(last_, std::get<Execute>(next.fields)) ? before.done : before.free;
}

void ExecuteUnit::act_at_start(const Command& command) {
  array_.execute(std::get<Execute>(command.fields), program().arch, scratchpads());
}

}  // namespace qsim::sim
