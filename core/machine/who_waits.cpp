#include "core/machine/who_waits.h"

#include "core/base/error.h"
#include "core/machine/program_text.h"

namespace qsim {
namespace {

using Progress = std::array<UnitProgress, kUnits>;
using Tokens = std::array<int, kSemaphores>;

bool has(std::uint16_t mask, std::size_t s) { return ((mask >> s) & 1) != 0; }

Tokens tokens_after(const Program& program, const Progress& progress) {
  Tokens tokens{};
  for (std::size_t s = 0; s < kSemaphores; ++s) tokens[s] = program.semaphores[s].initial;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    for (std::size_t i = 0; i < progress[u].started; ++i) {
      const std::uint16_t waits = stream.wait_mask(i);
      const std::uint16_t signals = i < progress[u].done ? stream.signal_mask(i) : 0;
      for (std::size_t s = 0; s < kSemaphores; ++s) {
        tokens[s] += static_cast<int>(has(signals, s)) - static_cast<int>(has(waits, s));
      }
    }
  }
  return tokens;
}

bool all_done(const Program& program, const Progress& progress) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (progress[u].done < program.streams[u].size()) return false;
  }
  return true;
}

// Who raises semaphore `s`, and whether it still will.
std::string producer_text(const Program& program, const Progress& progress, std::size_t s) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    if (stream.next_signal(s, 0) == stream.size()) continue;
    const std::string unit(kUnitNames[u]);
    const std::size_t next = stream.next_signal(s, progress[u].done);
    if (next == stream.size()) return "signalled by " + unit + ", which has no more of them";
    return "signalled next by " + unit + " command " + std::to_string(next);
  }
  return "signalled by no command";
}

std::string waits_text(const Program& program, const Progress& progress, const Tokens& tokens,
                       const Command& command) {
  std::string text;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (!has(command.wait_mask, s) || tokens[s] > 0) continue;
    text += " " + semaphore_name(program, s) + " (" + producer_text(program, progress, s) + ")";
  }
  return text.empty() ? " has its tokens and does not start" : " waits for" + text;
}

}  // namespace

std::string who_waits(const Program& program, const Progress& progress) {
  if (all_done(program, progress)) return "";  // as after every good run: count nothing
  const Tokens tokens = tokens_after(program, progress);
  std::string text;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    const UnitProgress& unit = progress[u];
    if (unit.done == stream.size()) continue;
    const bool under_way = unit.done < unit.started;
    const Instruction instruction = stream[under_way ? unit.done : unit.started];
    text += "\n  " + std::string(kUnitNames[u]) + " command " +
            std::to_string(under_way ? unit.done : unit.started) + " of " +
            std::to_string(stream.size()) + " (" + origin_text(program, instruction.origin) + ")";
    text +=
        under_way ? " is under way" : waits_text(program, progress, tokens, instruction.command);
    text += ": " + command_text(program, instruction.command);
  }
  return text;
}

void check_tokens_drained(const Program& program) {
  Progress all;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::size_t size = program.streams[u].size();
    all[u] = {size, size};
  }
  const Tokens tokens = tokens_after(program, all);
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    QSIM_CHECK(tokens[s] == program.semaphores[s].initial,
               "the program ends with " + std::to_string(tokens[s]) + " tokens in " +
                   semaphore_name(program, s) + "; it began with " +
                   std::to_string(program.semaphores[s].initial));
  }
}

}  // namespace qsim
