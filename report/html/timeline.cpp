#include "report/html/timeline.h"

#include <algorithm>

namespace qsim::report {
namespace {

std::size_t lane_of(Unit unit, const CommandStream& stream, std::size_t index) {
  if (unit == Unit::kLoad) return reported_memory(stream.fields<Load>(index).memory);
  return kLoadMemories - 1 + static_cast<std::size_t>(unit);
}

void put_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 128; number >>= 7) {
    bytes += static_cast<char>(static_cast<unsigned char>((number & 127) | 128));
  }
  bytes += static_cast<char>(number);
}

std::uint64_t signed_number(std::int64_t value) {
  return value >= 0 ? 2 * static_cast<std::uint64_t>(value)
                    : 2 * static_cast<std::uint64_t>(-value) - 1;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < there ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= there ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::size_t text_bytes(const Timeline& timeline) {
  std::size_t bytes = 0;
  for (const TimelineLane& lane : timeline.lanes) bytes += lane_text(lane).size();
  return bytes;
}

}  // namespace

std::size_t Timeline::spans() const {
  std::size_t count = 0;
  for (const TimelineLane& lane : lanes) count += lane.size();
  return count;
}

Timeline timeline_of(const Program& program, const CommandTimes& times) {
  Timeline timeline;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.stream(static_cast<Unit>(u));
    QSIM_CHECK(stream.size() == times[u].size(), "a timeline needs the times of every command");
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const CommandTime& time = times[u][i];
      timeline.cycles = std::max(timeline.cycles, time.done);
      timeline.lanes[lane_of(static_cast<Unit>(u), stream, i)].push_back(
          {time.start, time.free, time.free - time.start, 1,
           static_cast<std::uint32_t>(stream.origin(i).layer)});
    }
  }
  return timeline;
}

void append(Timeline& timeline, const Timeline& next, std::uint32_t layers) {
  const std::uint64_t start = timeline.cycles;
  for (std::size_t l = 0; l < kTimelineLanes; ++l) {
    for (TimelineSpan span : next.lanes[l]) {
      span.begin += start;
      span.end += start;
      span.layer += layers;
      timeline.lanes[l].push_back(span);
    }
  }
  timeline.cycles += next.cycles;
}

Timeline joined(const Timeline& timeline, std::uint64_t gap) {
  Timeline result;
  result.cycles = timeline.cycles;
  result.joined_gap = gap;
  for (std::size_t l = 0; l < kTimelineLanes; ++l) {
    TimelineLane& lane = result.lanes[l];
    for (const TimelineSpan& span : timeline.lanes[l]) {
      const bool joins =
          !lane.empty() && lane.back().layer == span.layer && span.begin - lane.back().end <= gap;
      if (!joins) {
        lane.push_back(span);
        continue;
      }
      lane.back().end = span.end;
      lane.back().busy += span.busy;
      lane.back().commands += span.commands;
    }
  }
  return result;
}

Timeline fitted(const Timeline& timeline, std::size_t most_bytes) {
  if (text_bytes(timeline) <= most_bytes) return timeline;
  std::uint64_t gap = 0;
  for (Timeline coarse = joined(timeline, gap);; coarse = joined(coarse, gap)) {
    if (text_bytes(coarse) <= most_bytes || gap >= timeline.cycles) return coarse;
    gap = gap == 0 ? 1 : 2 * gap;
  }
}

std::string lane_text(const TimelineLane& lane) {
  std::string bytes;
  std::uint64_t end = 0;
  std::int64_t layer = 0;
  for (const TimelineSpan& span : lane) {
    const std::uint64_t length = span.end - span.begin;
    put_number(bytes, span.begin - end);
    put_number(bytes, length);
    put_number(bytes, length - span.busy);
    put_number(bytes, span.commands - 1);
    put_number(bytes, signed_number(static_cast<std::int64_t>(span.layer) - layer));
    end = span.end;
    layer = span.layer;
  }
  return base64(bytes);
}

}  // namespace qsim::report
