#include "sim/systemc/load_unit.h"

#include "sim/systemc/datapath/tile_copy.h"

namespace qsim {

CommandTime LoadUnit::schedule(const Command& command, std::uint64_t start) {
  const Load& load = std::get<Load>(command.fields);
  const DramTimes times = read_channel_.schedule(start, dram_transfer(load, program().arch));
  return {start, times.free, times.done};
}

void LoadUnit::act_at_done(std::size_t index) {
  load_tile(stream().fields<Load>(index), program().arch, dram(), scratchpads());
  if (handover() != nullptr) handover()->load_done();
}

}  // namespace qsim
