#include "core/machine/engine.h"

#include <chrono>

namespace qsim {

TimedTake::TimedTake(const TakeOfmap& take)
    : take_([this, &take](std::size_t layer, std::span<const std::byte> dram) {
        const auto begin = std::chrono::steady_clock::now();
        take(layer, dram);
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }) {}

void deliver_ofmaps(const Program& program, const DramMemory& dram, const RunOptions& options,
                    RunResult& result) {
  if (!options.take_ofmap) {
    result.ofmaps = dram.ofmaps();
    return;
  }
  for (std::size_t layer = 0; layer < program.layers.size(); ++layer) {
    if (!dram.is_overwritten(layer)) options.take_ofmap(layer, dram.ofmap(layer));
  }
}

}  // namespace qsim
