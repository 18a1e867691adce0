// How full each on-chip memory is over time: the bytes that are in use, from the commands'
// addresses and times alone, without tokens or slots.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::report {

enum class OnChipMemory : std::uint8_t { kActivation, kWeight, kAccumulator, kOutput };

inline constexpr std::size_t kOnChipMemories = 4;
inline constexpr std::array<std::string_view, kOnChipMemories> kOnChipMemoryNames = {
    "activation scratchpad", "weight scratchpad", "accumulator", "output scratchpad"};

// From `cycle` on, so many bytes are in use.
struct ResidentLevel {
  std::uint64_t cycle = 0;
  std::uint64_t bytes = 0;
  bool operator==(const ResidentLevel&) const = default;
};

// A word is in use from the start of the command that writes it to the free of the last command
// that reads it, or of the one that wrote it if that is later. An EXECUTE that accumulates goes on
// with the words that are there. An EXECUTE reads every activation word of a plane between the
// first and the last that it needs. `times` are those of the program's commands, by any engine.
// Ascending cycles, each with another level than the one before; the first level is not 0, the last
// one is.
std::vector<ResidentLevel> resident_bytes(const Program& program, const CommandTimes& times,
                                          OnChipMemory memory);

}  // namespace qsim::report
