#include "sim/recurrence/program_times.h"

#include "core/base/error.h"
#include "core/machine/who_waits.h"
#include "sim/recurrence/recurrence.h"

namespace qsim::sim {
namespace {

using Times = std::array<std::vector<CommandTime>, kUnits>;

TokenCounts initial_tokens(const Program& program) {
  TokenCounts counts{};
  for (std::size_t s = 0; s < kSemaphores; ++s) counts[s] = program.semaphores[s].initial;
  return counts;
}

// Adds commands of one unit for as long as their tokens are there; whether there was one.
bool advance(const CommandStream& stream, Recurrence& recurrence, std::vector<CommandTime>& times) {
  const std::size_t begin = times.size();
  while (times.size() < stream.size() && recurrence.can_add(stream.wait_mask(times.size()))) {
    times.push_back(recurrence.add(stream.command(times.size())));
  }
  return times.size() > begin;
}

// No command can be added any more.
void check_all_added(const Program& program, const Times& times) {
  std::size_t added = 0;
  std::array<UnitProgress, kUnits> progress;
  for (std::size_t u = 0; u < kUnits; ++u) {
    added += times[u].size();
    progress[u] = {times[u].size(), times[u].size()};
  }
  QSIM_CHECK(added == program.command_count(),
             "deadlock: no unit can go on" + who_waits(program, progress));
}

}  // namespace

Times command_times(const Program& program) {
  validate(program.arch);
  Recurrence recurrence(program.arch, initial_tokens(program));
  Times times;
  for (std::size_t u = 0; u < kUnits; ++u) times[u].reserve(program.streams[u].size());
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t u = 0; u < kUnits; ++u) {
      progress |= advance(program.streams[u], recurrence, times[u]);
    }
  }
  check_all_added(program, times);
  recurrence.check_end();
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (recurrence.tokens_left(s) != program.semaphores[s].initial) check_tokens_drained(program);
  }
  return times;
}

}  // namespace qsim::sim
