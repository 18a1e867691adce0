#include "core/engine.h"

namespace qsim {

void deliver_ofmaps(const Program& program, const DramMemory& dram, const RunOptions& options,
                    RunResult& result) {
  if (!options.take_ofmap) {
    result.ofmaps = dram.ofmaps();
    return;
  }
  for (std::size_t layer = 0; layer < program.layers.size(); ++layer) {
    options.take_ofmap(layer, dram.ofmap(layer));
  }
}

}  // namespace qsim
