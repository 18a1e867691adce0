#include "sim/systemc/post_unit.h"

#include "core/machine/timing_model.h"
#include "sim/systemc/datapath/post_kernel.h"

namespace qsim::sim {

CommandTime PostUnit::schedule(const Command& command, std::uint64_t start) {
  const Duration duration = post_duration(std::get<Post>(command.fields), program().arch);
  return {start, start + duration.occupancy, start + duration.latency};
}

void PostUnit::act_at_start(const Command& command) {
  post_tile(std::get<Post>(command.fields), program().arch, path_, scratchpads());
}

}  // namespace qsim::sim
