#include "sim/systemc/load_unit.h"

#include "sim/systemc/datapath/tile_copy.h"

namespace qsim::sim {

CommandTime LoadUnit::schedule(const Command& command, std::uint64_t start) {
  const Load& load = std::get<Load>(command.fields);
  const DramTimes times = read_channel_.schedule(start, dram_transfer(load, program().arch));
  return {start, times.free, times.done};
}

void LoadUnit::act_at_done(const Command& command) {
  load_tile(std::get<Load>(command.fields), program().arch, dram(), scratchpads());
  if (handover() != nullptr) handover()->load_done();
}

}  // namespace qsim::sim
