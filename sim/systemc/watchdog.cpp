#include "sim/systemc/watchdog.h"

#include <algorithm>
#include <string>

#include "core/program_text.h"

namespace qsim {
namespace {

std::string unit_name(std::size_t unit) { return std::string(kUnitNames[unit]); }

// Who raises semaphore `s`, and whether it still will.
std::string producer_text(const Program& program, const std::array<CommandUnit*, kUnits>& units,
                          std::size_t s) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    if (stream.next_signal(s, 0) == stream.size()) continue;
    const std::size_t next = stream.next_signal(s, units[u]->started());
    if (next == stream.size())
      return "signalled by " + unit_name(u) + ", which has no more of them";
    return "signalled next by " + unit_name(u) + " command " + std::to_string(next);
  }
  return "signalled by no command";
}

std::string unit_text(const Program& program, const std::array<CommandUnit*, kUnits>& units,
                      const SemaphoreBank& semaphores, std::size_t u) {
  const std::size_t index = units[u]->started();
  const Instruction instruction = program.streams[u][index];
  const std::uint16_t missing = semaphores.missing(instruction.command.wait_mask);
  std::string text = "\n  ";
  text += kUnitNames[u];
  text += " command " + std::to_string(index) + " of " + std::to_string(program.streams[u].size()) +
          " (" + origin_text(program, instruction.origin) + ") waits for";
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (((missing >> s) & 1) == 0) continue;
    text += " " + semaphores.name(s) + " (" + producer_text(program, units, s) + ")";
  }
  return text + ": " + command_text(program, instruction.command);
}

}  // namespace

void check_all_started(const Program& program, const std::array<CommandUnit*, kUnits>& units,
                       const SemaphoreBank& semaphores) {
  std::string text;
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (units[u]->has_work()) text += unit_text(program, units, semaphores, u);
  }
  QSIM_CHECK(text.empty(), "deadlock: no unit can go on" + text);
}

}  // namespace qsim
