// DRAM traffic by layer, twice: from the commands and their origins, and from what an engine moved.
#pragma once

#include <vector>

#include "core/dram_memory.h"

namespace qsim {

struct LayerDramBytes {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  bool operator==(const LayerDramBytes&) const = default;
};

// What the LOADs and STOREs of each program layer ask for: groups x runs x run_bytes, attributed to
// the layer of the command's origin. Throws InternalError for an origin of no layer.
std::vector<LayerDramBytes> dram_bytes_of_commands(const Program& program);

// What an engine moved, attributed by address and without looking at any command: the ofmap of
// layer i is written by layer i and read by layer i + 1, the first layer reads the input, and a
// segment "NAME.weights" or "NAME.params" is read by the layer of that name. Throws InternalError
// for a segment of no layer that was read.
std::vector<LayerDramBytes> dram_bytes_of_traffic(const Program& program,
                                                  const DramTraffic& traffic);

// Throws InternalError, naming the layer, where the two differ.
void check_dram_bytes(const Program& program, const DramTraffic& traffic);

}  // namespace qsim
