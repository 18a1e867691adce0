// What a layer costs with a mapping: plain numbers, as the engines count them.
#pragma once

#include <cstdint>

namespace qsim::compiler {

struct LayerCost {
  std::uint64_t cycles = 0;  // from the boundary to the last STORE's done
  std::uint64_t act_read_bytes = 0;
  std::uint64_t weight_read_bytes = 0;
  std::uint64_t param_read_bytes = 0;
  std::uint64_t write_bytes = 0;  // of DRAM, as those read
  std::uint64_t commands = 0;

  std::uint64_t read_bytes() const { return act_read_bytes + weight_read_bytes + param_read_bytes; }
  bool operator==(const LayerCost&) const = default;
};

}  // namespace qsim::compiler
