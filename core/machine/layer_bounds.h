// What no program of a layer does better on an accelerator, whatever its mapping:
// docs/reference/mapping.md#bounds-of-a-layer.
#pragma once

#include <cstdint>

namespace qsim {

// Of several layers: the sums. `cycles` is then more than the largest of the other three.
struct LayerBounds {
  std::int64_t mac_cycles = 0;        // MACs / PEs, rounded up
  std::int64_t read_bus_cycles = 0;   // of the bytes read, each once, as wide as a beat is
  std::int64_t write_bus_cycles = 0;  // of the ofmap, likewise
  std::int64_t cycles = 0;            // the largest of these three
  std::int64_t dram_bytes = 0;        // ifmap, weights, parameters and ofmap, each once

  LayerBounds& operator+=(const LayerBounds& other) {
    mac_cycles += other.mac_cycles;
    read_bus_cycles += other.read_bus_cycles;
    write_bus_cycles += other.write_bus_cycles;
    cycles += other.cycles;
    dram_bytes += other.dram_bytes;
    return *this;
  }
  bool operator==(const LayerBounds&) const = default;
};

}  // namespace qsim
