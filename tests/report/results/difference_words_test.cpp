// report/results/difference_words.h: why a layer costs less in one result than in another.
#include "report/results/difference_words.h"

#include <gtest/gtest.h>

#include "report/results/result_comparison.h"

namespace qsim {

using namespace report;
namespace {

// A layer that takes 1000 cycles and 2 MB.
ResultLayer layer(const std::string& limited_by) {
  ResultLayer made;
  made.name = "conv";
  made.dataflow = "weight_stationary";
  made.cycles = 1000;
  made.stream_cycles = 400;
  made.dram_read_bytes = 1'500'000;
  made.dram_write_bytes = 500'000;
  made.limited_by = limited_by;
  made.limiter_busy = 0.9;
  return made;
}

NetworkResult result_of(const ResultLayer& layer) {
  NetworkResult made;
  made.layers = {layer};
  made.total = layer;
  made.simulated_seconds = static_cast<double>(layer.cycles) / 1e9;
  return made;
}

// What is said after the colon of the costs, of "a" against "b".
std::string reason(const ResultLayer& a, const ResultLayer& b, Measure measure = Measure::kCycles) {
  const std::vector<std::string> words =
      difference_words(result_of(a), result_of(b), measure, {"a", "b"}, 1);
  const std::string begin = "): ";
  return words.empty() ? "" : words[0].substr(words[0].find(begin) + begin.size());
}

std::uint64_t& part(ResultLayer& layer, PathPart part) {
  return layer.critical_path[static_cast<std::size_t>(part)];
}

TEST(DifferenceWords, WhereOneUnitLimitsBothThePartOfTheCriticalPathThatDiffersIsTheReason) {
  ResultLayer a = layer("weights");
  ResultLayer b = layer("weights");
  a.limiter_busy = 0.996;
  b.limiter_busy = 0.992;
  b.cycles = 1004;
  b.dataflow = "output_stationary";
  part(a, PathPart::kWeights) = part(b, PathPart::kWeights) = 996;
  part(a, PathPart::kDramLatency) = 2;
  part(b, PathPart::kDramLatency) = 5;
  part(a, PathPart::kPost) = 9;  // more: no reason for fewer cycles
  EXPECT_EQ(reason(a, b),
            "both are limited by loads of weights (99.6% and 99.2% busy); on its critical path "
            "waits for the latency of DRAM take 2 cycles against 5.");
  EXPECT_EQ(reason(b, a),
            "both are limited by loads of weights (99.2% and 99.6% busy); on its critical path "
            "waits for the latency of DRAM take 5 cycles against 2.");
}

TEST(DifferenceWords, AnotherLimitOrOtherBytesAreReasonEnough) {
  ResultLayer a = layer("array");
  ResultLayer b = layer("write_bus");
  b.cycles = 1100;
  part(b, PathPart::kPost) = 100;
  EXPECT_EQ(reason(a, b),
            "a is limited by the array (90.0% busy), b limited by the write bus (90.0% busy).");
  b.limited_by = "array";
  b.dram_read_bytes = 1'600'000;
  EXPECT_EQ(reason(a, b),
            "both are limited by the array (90.0% busy); it moves 2.000 MB of DRAM against 2.100.");
}

TEST(DifferenceWords, WhatPointsTheOtherWayIsNoReason) {
  ResultLayer a = layer("array");
  ResultLayer b = layer("array");
  b.cycles = 1100;
  b.dram_read_bytes = 1'400'000;
  part(b, PathPart::kArray) = 100;
  EXPECT_EQ(
      reason(a, b),
      "both are limited by the array (90.0% busy); although it moves 2.000 MB of DRAM against "
      "1.900; on its critical path pixels in the array take 0 cycles against 100.");
}

TEST(DifferenceWords, OfBytesItSaysWhetherTheyAreReadOrWritten) {
  ResultLayer a = layer("array");
  ResultLayer b = layer("array");
  b.dram_read_bytes = 1'600'000;
  EXPECT_EQ(reason(a, b, Measure::kDramBytes),
            "both are limited by the array (90.0% busy); it reads 1,500,000 bytes against "
            "1,600,000.");
  b.dram_write_bytes = 600'000;
  b.dram_read_bytes = 1'490'000;
  EXPECT_EQ(reason(a, b, Measure::kDramBytes),
            "both are limited by the array (90.0% busy); it writes 500,000 bytes against 600,000.");
}

TEST(DifferenceWords, AWaitIsForWhatTheCriticalPathIsLongestIn) {
  ResultLayer waits = layer("dependence");
  EXPECT_EQ(limit_text(waits),
            "limited by waits, of one command for another (90.0% of its critical path)");
  part(waits, PathPart::kArray) = 999;
  part(waits, PathPart::kPostLatency) = 20;
  EXPECT_EQ(limit_text(waits),
            "limited by waits, mostly for the pipeline of POST (90.0% of its critical path)");
  part(waits, PathPart::kArrayLatency) = 21;
  EXPECT_EQ(limit_text(waits),
            "limited by waits, mostly for the array to fill and empty (90.0% of its critical "
            "path)");
  part(waits, PathPart::kDramLatency) = 22;
  EXPECT_EQ(limit_text(waits),
            "limited by waits, mostly for the latency of DRAM (90.0% of its critical path)");
  ResultLayer other = layer("dependence");
  other.cycles = 1100;
  part(other, PathPart::kPostLatency) = 1;
  EXPECT_EQ(reason(waits, other).rfind("a is limited by waits, mostly for the latency of DRAM", 0),
            0u)
      << "waits for two things are two limits";
}

TEST(DifferenceWords, AComparisonHasTimesWhereClocksDiffer) {
  const NetworkResult slow = result_of(layer("array"));
  NetworkResult fast = slow;
  const auto compared = [&] {
    return comparison_sheet({"slow.json", true, {slow}}, {"fast.json", true, {fast}});
  };
  EXPECT_EQ(compared().tables[1].columns.back(), "limited_by_after");
  fast.simulated_seconds = *slow.simulated_seconds / 2;
  const Sheet sheet = compared();
  EXPECT_EQ(std::get<std::string>(sheet.tables[0].rows.at(0)[0]),
            "fast.json takes as many cycles as slow.json and moves as many bytes of DRAM as "
            "slow.json. The clocks differ: it takes 50.0% less time than slow.json.");
  EXPECT_EQ(sheet.tables[1].columns.back(), "change_of_time");
  EXPECT_EQ(std::get<std::string>(sheet.tables[1].rows.at(0).at(9)), "1.0 us");
  EXPECT_EQ(std::get<std::string>(sheet.tables[1].rows.at(0).at(10)), "0.5 us");
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.tables[1].rows.at(0).at(11)), -0.5);
}

}  // namespace
}  // namespace qsim
