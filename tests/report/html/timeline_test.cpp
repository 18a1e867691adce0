// report/html/timeline.h
#include "report/html/timeline.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

constexpr std::size_t kExecuteLane = 3;

std::string decoded_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string_view all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    group = group << 6 | static_cast<std::uint32_t>(all.find(c));
    if (++digits % 4 == 0) {
      for (int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 255);
      group = 0;
    }
  }
  for (int left = digits % 4, shift = 6 * left - 8; left > 1; --left, shift -= 8) {
    bytes += static_cast<char>(group >> shift & 255);
  }
  return bytes;
}

// The inverse of lane_text(), by its description.
TimelineLane lane_of(const std::string& text) {
  const std::string bytes = decoded_base64(text);
  std::size_t at = 0;
  const auto number = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
  };
  TimelineLane lane;
  std::uint64_t end = 0;
  std::int64_t layer = 0;
  while (at < bytes.size()) {
    TimelineSpan span;
    span.begin = end + number();
    span.end = span.begin + number();
    span.busy = span.end - span.begin - number();
    span.commands = number() + 1;
    const std::uint64_t step = number();
    layer += step % 2 == 0 ? static_cast<std::int64_t>(step / 2)
                           : -static_cast<std::int64_t>(step / 2) - 1;
    span.layer = static_cast<std::uint32_t>(layer);
    end = span.end;
    lane.push_back(span);
  }
  return lane;
}

std::uint64_t busy_of(const TimelineLane& lane) {
  std::uint64_t busy = 0;
  for (const TimelineSpan& span : lane) busy += span.busy;
  return busy;
}

std::uint64_t commands_of(const TimelineLane& lane) {
  std::uint64_t commands = 0;
  for (const TimelineSpan& span : lane) commands += span.commands;
  return commands;
}

// A timeline of many commands in a few layers, at random but ascending times.
Timeline random_timeline(unsigned seed, std::size_t commands) {
  std::mt19937 random(seed);
  Timeline timeline;
  for (TimelineLane& lane : timeline.lanes) {
    std::uint64_t cycle = 0;
    for (std::size_t i = 0; i < commands; ++i) {
      const std::uint64_t begin = cycle + (random() % 3 == 0 ? random() % 300 : 0);
      const std::uint64_t length = random() % 200;
      cycle = begin + length;
      lane.push_back({begin, cycle, length, 1, static_cast<std::uint32_t>(i * 5 / commands)});
    }
    timeline.cycles = std::max(timeline.cycles, cycle);
  }
  return timeline;
}

TEST(Timeline, HasASpanForEachCommandInItsLane) {
  const Timeline timeline = timeline_of(sample_program(), sample_result().times);
  EXPECT_EQ(timeline.cycles, 190U);
  EXPECT_EQ(timeline.joined_gap, std::nullopt);
  EXPECT_EQ(timeline.spans(), 8U);
  EXPECT_EQ(timeline.lanes[0], (TimelineLane{{0, 10, 10, 1, 0}, {100, 102, 2, 1, 1}}));
  EXPECT_TRUE(timeline.lanes[1].empty());
  EXPECT_TRUE(timeline.lanes[2].empty());
  EXPECT_EQ(timeline.lanes[kExecuteLane], (TimelineLane{{30, 60, 30, 1, 0}, {122, 142, 20, 1, 1}}));
  EXPECT_EQ(timeline.lanes[4], (TimelineLane{{78, 88, 10, 1, 0}, {160, 162, 2, 1, 1}}));
  EXPECT_EQ(timeline.lanes[5], (TimelineLane{{94, 97, 3, 1, 0}, {168, 170, 2, 1, 1}}));
}

TEST(Timeline, LoadsAreInTheLaneOfTheirMemory) {
  Program program = sample_program();
  Load load;
  load.run_bytes = 4;
  load.runs = load.groups = 1;
  load.memory = static_cast<decltype(load.memory)>(LoadMemory::kWeight);
  program.streams.append({0, 0, load}, {1, 0, 0, 1, 0, 1, 0, 2, 0, 4});
  RunResult result = sample_result();
  result.times[0].push_back({110, 111, 131});
  EXPECT_EQ(timeline_of(program, result.times).lanes[1], (TimelineLane{{110, 111, 1, 1, 1}}));
}

TEST(Timeline, AnotherRunBeginsWhereTheLastOneEnds) {
  Timeline timeline = timeline_of(sample_program(), sample_result().times);
  append(timeline, timeline_of(sample_program(), sample_result().times), 2);
  EXPECT_EQ(timeline.cycles, 380U);
  EXPECT_EQ(
      timeline.lanes[kExecuteLane],
      (TimelineLane{
          {30, 60, 30, 1, 0}, {122, 142, 20, 1, 1}, {220, 250, 30, 1, 2}, {312, 332, 20, 1, 3}}));
}

TEST(Timeline, JoinsNeighboursOfOneLayerUpToTheGap) {
  Timeline timeline;
  timeline.lanes[0] = {
      {0, 10, 10, 1, 0}, {10, 20, 10, 1, 0}, {24, 30, 6, 1, 0}, {30, 40, 10, 1, 1}};
  timeline.cycles = 40;
  EXPECT_EQ(joined(timeline, 0).lanes[0],
            (TimelineLane{{0, 20, 20, 2, 0}, {24, 30, 6, 1, 0}, {30, 40, 10, 1, 1}}));
  EXPECT_EQ(joined(timeline, 3).lanes[0].size(), 3U);
  EXPECT_EQ(joined(timeline, 4).lanes[0], (TimelineLane{{0, 30, 26, 3, 0}, {30, 40, 10, 1, 1}}));
}

TEST(Timeline, FitsIntoItsBytesAndLosesNoCycleAndNoCommand) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Timeline timeline = random_timeline(seed, 500);
    std::size_t before = timeline.spans() + 1;
    for (const std::size_t bytes : {100'000U, 10'000U, 3'000U, 1'000U}) {
      const Timeline small = fitted(timeline, bytes);
      std::size_t used = 0;
      for (std::size_t l = 0; l < kTimelineLanes; ++l) {
        used += lane_text(small.lanes[l]).size();
        EXPECT_EQ(busy_of(small.lanes[l]), busy_of(timeline.lanes[l])) << "seed " << seed;
        EXPECT_EQ(commands_of(small.lanes[l]), 500U) << "seed " << seed;
      }
      EXPECT_LE(used, bytes) << "seed " << seed;
      EXPECT_LT(small.spans(), before) << "seed " << seed << ", " << bytes;
      before = small.spans();
    }
    EXPECT_EQ(fitted(timeline, 100'000).joined_gap, std::nullopt) << "seed " << seed;
  }
}

TEST(Timeline, EndsWhereNothingCanBeJoined) {
  const Timeline timeline = random_timeline(3, 100);
  const Timeline least = fitted(timeline, 0);
  EXPECT_GE(least.joined_gap.value(), timeline.cycles);
  EXPECT_EQ(least.spans(), 5 * kTimelineLanes);
}

TEST(Timeline, ATextGivesTheSpansBack) {
  EXPECT_EQ(lane_text({}), "");
  // 5, 300 = 0x2c 0x02 in groups of 7 bits, 300 - 299, 1 - 1, layer 2: 4.
  EXPECT_EQ(decoded_base64(lane_text({{5, 305, 299, 1, 2}})),
            std::string("\x05\xac\x02\x01\0\x04", 6));
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Timeline timeline = random_timeline(seed, 1 + seed % 7);
    timeline.lanes[0].push_back({std::uint64_t{1} << 52, (std::uint64_t{1} << 52) + 1, 0, 9, 0});
    for (const TimelineLane& lane : timeline.lanes) {
      EXPECT_EQ(lane_of(lane_text(lane)), lane) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace qsim
