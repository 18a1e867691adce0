#include "report/analysis/start_causes.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/base/error.h"
#include "core/machine/timing_model.h"

namespace qsim::report {
namespace {

// The command that raised a token: its unit in the low bits. Streams have fewer than 2^30 commands.
using Producer = std::uint32_t;

Producer producer_of(std::size_t unit, std::size_t command) {
  return static_cast<Producer>(command << 2 | unit);
}

// The tokens of a semaphore, and how many have been taken. A semaphore has one producing unit,
// which is done with its commands in order, and one consuming unit: the k-th wait takes the token
// of the (k - initial)-th signal, the first `initial` being there from the start.
struct TokenLine {
  std::size_t initial = 0;
  std::vector<Producer> producers;
  std::size_t taken = 0;
};

using TokenLines = std::array<TokenLine, kSemaphores>;

TokenLines token_lines(const Program& program, const CommandTimes& times) {
  TokenLines lines;
  for (std::size_t s = 0; s < kSemaphores; ++s) lines[s].initial = program.semaphores[s].initial;
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      for (unsigned mask = program.streams[u].signal_mask(i); mask != 0; mask &= mask - 1) {
        const auto s = static_cast<std::size_t>(std::countr_zero(mask));
        lines[s].producers.push_back(producer_of(u, i));
      }
    }
  }
  return lines;
}

struct LastToken {
  std::uint64_t cycle = 0;  // 0 without a wait
  std::size_t semaphore = 0;
  Producer producer = 0;
};

LastToken take_tokens(const Program& program, const CommandTimes& times, std::size_t unit,
                      std::size_t index, TokenLines& lines) {
  LastToken last;
  for (unsigned mask = program.streams[unit].wait_mask(index); mask != 0; mask &= mask - 1) {
    const auto s = static_cast<std::size_t>(std::countr_zero(mask));
    TokenLine& line = lines[s];
    if (line.taken++ < line.initial) continue;  // there since cycle 0
    const std::size_t signal = line.taken - 1 - line.initial;
    QSIM_CHECK(signal < line.producers.size(), command_name(program, unit, index) +
                                                   " takes a token of semaphore " +
                                                   std::to_string(s) + " that no command signals");
    const Producer producer = line.producers[signal];
    const std::uint64_t cycle = times[producer & 3][producer >> 2].done;
    if (cycle > last.cycle) last = {cycle, s, producer};
  }
  return last;
}

bool is_switch(const Program& program, std::size_t unit, std::size_t index) {
  if (static_cast<Unit>(unit) != Unit::kExecute || index == 0) return false;
  const CommandStream executes = program.streams[unit];
  return switches_dataflow(executes.fields<Execute>(index - 1), executes.fields<Execute>(index));
}

}  // namespace

std::string command_name(const Program& program, std::size_t unit, std::size_t index) {
  std::string name(kUnitNames[unit]);
  name += " command " + std::to_string(index) + " (" +
          origin_text(program, program.streams[unit].origin(index)) + ")";
  return name;
}

StartCauses start_causes(const Program& program, const CommandTimes& times) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    QSIM_CHECK(times[u].size() == program.streams[u].size(),
               std::string(kUnitNames[u]) + " unit has times of " +
                   std::to_string(times[u].size()) + " commands; the program has " +
                   std::to_string(program.streams[u].size()));
  }
  TokenLines lines = token_lines(program, times);
  StartCauses causes;
  for (std::size_t u = 0; u < kUnits; ++u) {
    causes[u].reserve(times[u].size());
    std::uint64_t unit_free = 0;
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      const CommandTime& time = times[u][i];
      LastToken token = take_tokens(program, times, u, i, lines);
      const std::uint64_t ready = is_switch(program, u, i) ? times[u][i - 1].done : unit_free;
      const std::uint64_t start = std::max(ready, token.cycle);
      QSIM_CHECK(time.start == start && time.free >= start && time.done >= time.free,
                 command_name(program, u, i) + " starts at cycle " + std::to_string(time.start) +
                     "; its unit is ready at " + std::to_string(ready) +
                     " and its last token comes at " + std::to_string(token.cycle));
      if (ready > unit_free && ready >= token.cycle) {
        token = {ready, kSwitchStall, producer_of(u, i - 1)};
      }
      causes[u].push_back({start - unit_free, token.producer >> 2,
                           static_cast<std::uint8_t>(token.producer & 3),
                           static_cast<std::uint8_t>(token.semaphore)});
      unit_free = time.free;
    }
  }
  return causes;
}

}  // namespace qsim::report
