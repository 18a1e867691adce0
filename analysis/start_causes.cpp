#include "analysis/start_causes.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/error.h"
#include "core/timing_model.h"

namespace qsim {
namespace {

struct Arrival {
  std::uint64_t cycle = 0;
  std::uint32_t producer = 0;
  std::uint8_t unit = 0;
};

// The tokens of a semaphore, and how many have been taken. A semaphore has one producing unit,
// which is done with its commands in order, and one consuming unit: the k-th wait takes the token
// of the (k - initial)-th signal, the first `initial` being there from the start.
struct TokenLine {
  std::vector<Arrival> arrivals;
  std::size_t taken = 0;
};

using TokenLines = std::array<TokenLine, kSemaphores>;

TokenLines token_lines(const Program& program, const CommandTimes& times) {
  TokenLines lines;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    lines[s].arrivals.assign(program.semaphores[s].initial, {});
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      for (unsigned mask = program.streams[u].signal_mask(i); mask != 0; mask &= mask - 1) {
        lines[static_cast<std::size_t>(std::countr_zero(mask))].arrivals.push_back(
            {times[u][i].done, static_cast<std::uint32_t>(i), static_cast<std::uint8_t>(u)});
      }
    }
  }
  return lines;
}

struct LastToken {
  Arrival arrival;  // cycle 0 without a wait
  std::size_t semaphore = 0;
};

LastToken take_tokens(const Program& program, std::size_t unit, std::size_t index,
                      TokenLines& lines) {
  LastToken last;
  for (unsigned mask = program.streams[unit].wait_mask(index); mask != 0; mask &= mask - 1) {
    const auto s = static_cast<std::size_t>(std::countr_zero(mask));
    TokenLine& line = lines[s];
    QSIM_CHECK(line.taken < line.arrivals.size(),
               command_name(program, unit, index) + " takes a token of semaphore " +
                   std::to_string(s) + " that no command signals");
    const Arrival& arrival = line.arrivals[line.taken++];
    if (arrival.cycle > last.arrival.cycle) last = {arrival, s};
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
      LastToken token = take_tokens(program, u, i, lines);
      const std::uint64_t ready = is_switch(program, u, i) ? times[u][i - 1].done : unit_free;
      const std::uint64_t start = std::max(ready, token.arrival.cycle);
      QSIM_CHECK(time.start == start && time.free >= start && time.done >= time.free,
                 command_name(program, u, i) + " starts at cycle " + std::to_string(time.start) +
                     "; its unit is ready at " + std::to_string(ready) +
                     " and its last token comes at " + std::to_string(token.arrival.cycle));
      if (ready > unit_free && ready >= token.arrival.cycle) {
        token = {{ready, static_cast<std::uint32_t>(i - 1), static_cast<std::uint8_t>(u)},
                 kSwitchStall};
      }
      causes[u].push_back({start - unit_free, token.arrival.producer, token.arrival.unit,
                           static_cast<std::uint8_t>(token.semaphore)});
      unit_free = time.free;
    }
  }
  return causes;
}

}  // namespace qsim
