// DRAM traffic twice: from the commands, by layer and by tensor, and from what an engine moved.
#pragma once

#include <vector>

#include "core/machine/dram_memory.h"

namespace qsim::report {

struct LayerDramBytes {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  bool operator==(const LayerDramBytes&) const = default;
};

// What the LOADs and STOREs of each program layer ask for: groups x runs x run_bytes, attributed to
// the layer of the command's origin. Throws InternalError for an origin of no layer.
std::vector<LayerDramBytes> dram_bytes_of_commands(const Program& program);

// The same by tensor, as an engine counts what it moves: by the address of each run. A LOAD may
// read several tensors, where a concatenation has them side by side.
DramTraffic dram_traffic_of_commands(const Program& program);

// Throws InternalError, naming the layer, where the commands ask for other bytes of a tensor than
// the engine moved; for a segment "NAME.weights" or "NAME.params" that another layer than NAME
// reads; for a STORE to another layer's ofmap; and where the layers of a stream's commands are out
// of order, so that one is counted for another.
void check_dram_bytes(const Program& program, const DramTraffic& traffic);

}  // namespace qsim::report
