#include "sim/systemc/store_unit.h"

#include "sim/systemc/datapath/tile_copy.h"

namespace qsim::sim {

CommandTime StoreUnit::schedule(const Command& command, std::uint64_t start) {
  const Store& store = std::get<Store>(command.fields);
  const DramTimes times = write_channel_.schedule(start, dram_transfer(store, program().arch));
  return {start, times.free, times.done};
}

void StoreUnit::act_at_done(const Command& command) {
  store_tile(std::get<Store>(command.fields), program().arch, scratchpads(), dram());
  if (handover() != nullptr) handover()->store_done();
}

}  // namespace qsim::sim
