// Why each command started when it did: its unit was busy until then, a token came, or (EXECUTE
// alone) the array was empty, so that the dataflow could change. The stalls,
// the edges of layers and the critical path all follow from this one answer.
#pragma once

#include <array>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::report {

// What a command waits for while its unit is free: a token of a semaphore, by its number, or an
// empty array.
inline constexpr std::size_t kSwitchStall = kSemaphores;
inline constexpr std::size_t kStallCauses = kSemaphores + 1;

// Why one command starts when it does: at max(unit free, its tokens; done of the EXECUTE before,
// where the dataflow differs).
struct StartCause {
  std::uint64_t stall_cycles = 0;  // start - unit free; 0: the unit was busy until the start
  // The token that came last, of several the one with the lowest semaphore number, and the command
  // that raised it; or kSwitchStall and the EXECUTE before, unless a token came after that was
  // done. Where a command does not stall, only the semaphore means something.
  std::uint32_t producer = 0;
  std::uint8_t producer_unit = 0;
  std::uint8_t semaphore = 0;
};

using StartCauses = std::array<std::vector<StartCause>, kUnits>;

// "load command 3 (conv2 tile 1, ...)"
std::string command_name(const Program& program, std::size_t unit, std::size_t index);

// Throws InternalError for times of another program, for a token that no command signals, and for a
// command that starts at any other cycle.
StartCauses start_causes(const Program& program, const CommandTimes& times);

}  // namespace qsim::report
