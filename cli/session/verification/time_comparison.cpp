#include "cli/session/verification/time_comparison.h"

#include <algorithm>

#include "core/base/error.h"

namespace qsim::cli {
namespace {

std::string time_text(const CommandTime& time) {
  return "start " + std::to_string(time.start) + ", free " + std::to_string(time.free) + ", done " +
         std::to_string(time.done);
}

std::uint64_t begin_of(const TimeDivergence& divergence) {
  return std::min(divergence.expected.start, divergence.found.start);
}

}  // namespace

TimeComparison compare_times(const CommandTimes& expected, const CommandTimes& found) {
  TimeComparison comparison;
  for (std::size_t u = 0; u < kUnits; ++u) {
    QSIM_CHECK(expected[u].size() == found[u].size(),
               "times of " + std::to_string(expected[u].size()) + " commands are compared with " +
                   std::to_string(found[u].size()));
    comparison.commands += static_cast<std::int64_t>(expected[u].size());
    for (std::size_t i = 0; i < expected[u].size(); ++i) {
      if (expected[u][i] == found[u][i]) continue;
      ++comparison.mismatches;
      const TimeDivergence here{static_cast<Unit>(u), i, expected[u][i], found[u][i]};
      if (!comparison.first || begin_of(here) < begin_of(*comparison.first)) {
        comparison.first = here;
      }
    }
  }
  return comparison;
}

std::string time_divergence_text(const Program& program, const TimeDivergence& divergence) {
  const Origin& origin = program.stream(divergence.unit).origin(divergence.command);
  return std::string(kUnitNames[static_cast<std::size_t>(divergence.unit)]) + " command " +
         std::to_string(divergence.command) + " (" + origin_text(program, origin) + "): expected " +
         time_text(divergence.expected) + "; found " + time_text(divergence.found);
}

}  // namespace qsim::cli
