// Where tensors are in DRAM, by when they are needed: two that no layer needs at the same time may
// have the same bytes. Knows layers as numbers and tensors as sizes; the memory plan knows the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qsim::compiler {

inline constexpr std::int64_t kRegionAlignment = 4096;  // a burst never needs to cross a 4 KiB line

// A tensor of `bytes`, or the tensors that a concatenation has side by side. Layer `first` is the
// first one that writes it (0 for the network's input), `last` the last one that reads or writes
// it. Layers run one after the other (ADR 0015, docs/adr/machine.md), so outside first..last
// its bytes are free.
struct TensorLifetime {
  std::int64_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

// A region for each tensor: its first byte, a multiple of 4096.
struct DramPlaces {
  std::vector<std::int64_t> addresses;  // as the lifetimes
  std::int64_t bytes = 0;               // the end of the last region, rounded up to 4096
};

// Regions one after the other, none used twice.
DramPlaces place_apart(std::span<const TensorLifetime> tensors);

// Regions that tensors share which are not needed at the same time. Each is given best-fit, to the
// smallest gap between those that it may not touch; of several orders the one that takes the fewest
// bytes counts, the first of equal ones. The same lifetimes always give the same places.
DramPlaces place_by_lifetime(std::span<const TensorLifetime> tensors);

// The largest sum of tensors that one layer needs, each rounded up to 4096 bytes: no places take
// fewer bytes.
std::int64_t most_live_bytes(std::span<const TensorLifetime> tensors);

}  // namespace qsim::compiler
