// When each unit was occupied, in a form small enough for the report's page: one span a command, or
// neighbours as one span where the run has too many commands.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::report {

// The load unit has a lane for each memory that it fills; every other unit has one.
inline constexpr std::size_t kTimelineLanes = kLoadMemories + kUnits - 1;
// The lanes' names in the page's data.
inline constexpr std::array<std::string_view, kTimelineLanes> kTimelineLaneNames = {
    "load_activations", "load_weights", "load_parameters", "execute", "post", "store"};

// `commands` neighbours of one lane and one program layer: [begin, end) in cycles, from the start
// of the first to the free of the last, in which they occupy their unit for `busy` cycles.
struct TimelineSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t busy = 0;
  std::uint64_t commands = 0;
  std::uint32_t layer = 0;
  bool operator==(const TimelineSpan&) const = default;
};

using TimelineLane = std::vector<TimelineSpan>;  // ascending, not overlapping

struct Timeline {
  std::array<TimelineLane, kTimelineLanes> lanes;
  std::uint64_t cycles = 0;  // the last done
  // Neighbours at most so many cycles apart are one span; absent: each command is a span.
  std::optional<std::uint64_t> joined_gap;

  std::size_t spans() const;
};

// A span a command. `times` are those of a run of `program`.
Timeline timeline_of(const Program& program, const CommandTimes& times);

// Adds a run that begins when `timeline` ends, and whose layers come after the first `layers`.
void append(Timeline& timeline, const Timeline& next, std::uint32_t layers);

// Joins neighbours of one layer that are at most `gap` cycles apart.
Timeline joined(const Timeline& timeline, std::uint64_t gap);

// The finest timeline whose text has at most `most_bytes`: as it is, or joined with gap 0, 1, 2, 4
// and so on. Where the gap is the run itself, it is what it is.
Timeline fitted(const Timeline& timeline, std::size_t most_bytes);

// A lane as Base64 (RFC 4648) of numbers, each in groups of 7 bits, the lowest first, with bit 7
// set in all bytes but the last. Each span has five: begin - end of the one before; end - begin;
// (end - begin) - busy; commands - 1; and the layer's distance d to the one before as 2 d, or
// -2 d - 1 if d < 0.
std::string lane_text(const TimelineLane& lane);

}  // namespace qsim::report
