// report/limiter_words.h
#include "report/limiter_words.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace report;
namespace {

LayerTiming timing_of(std::string_view name, Limiter limiter) {
  LayerTiming timing;
  timing.cycles = 1234;
  timing.limited_by = {limiter, name, 1000};
  timing.limiter_busy = 0.875;
  return timing;
}

std::string words(std::string_view name, Limiter limiter, std::int64_t bus_bytes = 8) {
  ArchConfig arch;
  arch.bus_bytes = bus_bytes;
  arch.array_cols = 32;
  return limiter_words("conv1", timing_of(name, limiter), arch);
}

TEST(LimiterWords, SayForEachLimiterWhatIsBusyAndHowMuch) {
  EXPECT_EQ(words("array", Limiter::kArray),
            "conv1 takes 1,234 cycles and is limited by the array: EXECUTEs occupy it in 87.5% of "
            "these cycles.");
  EXPECT_EQ(words("bubbles", Limiter::kArray),
            "conv1 takes 1,234 cycles and is limited by fold bubbles: EXECUTEs occupy the array in "
            "87.5% of these cycles, but mostly no pixel streams, because a fold has fewer pixels "
            "than the array has rows.");
  EXPECT_EQ(words("weights", Limiter::kReadBus),
            "conv1 takes 1,234 cycles and is limited by the read bus, which mostly loads weights: "
            "LOADs occupy it in 87.5% of these cycles.");
  EXPECT_EQ(words("read_bus", Limiter::kReadBus),
            "conv1 takes 1,234 cycles and is limited by the read bus: LOADs occupy it in 87.5% of "
            "these cycles.");
  EXPECT_EQ(words("write_bus", Limiter::kWriteBus),
            "conv1 takes 1,234 cycles and is limited by the write bus: STOREs occupy it in 87.5% "
            "of these cycles.");
  EXPECT_EQ(words("post", Limiter::kPost),
            "conv1 takes 1,234 cycles and is limited by POST, which requantizes the psums: it is "
            "busy in 87.5% of these cycles.");
  EXPECT_EQ(words("dependence", Limiter::kDependence),
            "conv1 takes 1,234 cycles and is limited by no unit: in 87.5% of these cycles its "
            "commands wait for the latency of DRAM or of a pipeline, one after the other.");
}

TEST(LimiterWords, SayThatABusIsWiderThanTheWordsItCarries) {
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
  };
  const std::string columns =
      " Each beat moves one word of 32 bytes (array_cols), so a wider bus alone moves no more.";
  EXPECT_FALSE(ends_with(words("write_bus", Limiter::kWriteBus, 16), columns));
  EXPECT_TRUE(ends_with(words("write_bus", Limiter::kWriteBus, 32), columns));
  EXPECT_TRUE(ends_with(words("weights", Limiter::kReadBus, 64),
                        " Each beat moves one word of 32 bytes (the larger of array_rows and "
                        "array_cols), so a wider bus alone moves no more."));
  EXPECT_TRUE(
      ends_with(words("read_bus", Limiter::kReadBus, 16),
                " Each beat moves one word of 16 bytes (array_rows), so a wider bus alone moves no "
                "more."));
  EXPECT_FALSE(ends_with(words("array", Limiter::kArray, 256), "no more."));
}

TEST(LimiterWords, NameTheUnitThatIsTheNextLimit) {
  LayerTiming timing = timing_of("write_bus", Limiter::kWriteBus);
  timing.cycles = 300;
  timing.limiter_busy = 0.997;
  timing.busy.units = {200, 200, 200, 299};
  const ArchConfig arch;
  EXPECT_EQ(limiter_words("x", timing, arch).find("Next comes"), std::string::npos);
  timing.busy.units = {250, 270, 201, 299};
  EXPECT_NE(limiter_words("x", timing, arch)
                .find(" Next comes the array, occupied in 90.0% of these cycles."),
            std::string::npos);
  timing.limited_by = {Limiter::kArray, "array", 290};
  timing.limiter_busy = 0.9;
  EXPECT_NE(limiter_words("x", timing, arch)
                .find(" At work in 99.7% of these cycles: the write bus, which is less of the "
                      "longest chain of commands."),
            std::string::npos);
  timing.limiter_busy = 0.999;
  EXPECT_NE(limiter_words("x", timing, arch).find(" Next comes the write bus, occupied in 99.7%"),
            std::string::npos);
  timing.limited_by = {Limiter::kDependence, "dependence", 100};
  timing.busy.units = {100, 100, 280, 100};
  EXPECT_NE(limiter_words("x", timing, arch).find(" Next comes POST, occupied in 93.3%"),
            std::string::npos);
}

// A STORE whose bursts are all in flight occupies its unit and moves nothing: the bus is idle.
TEST(LimiterWords, SayWhereAUnitIsOccupiedByWaiting) {
  LayerTiming timing = timing_of("dependence", Limiter::kDependence);
  timing.cycles = 1000;
  timing.limited_by.path_cycles = 835;
  timing.limiter_busy = 0.835;
  timing.critical_path[static_cast<std::size_t>(PathPart::kDramLatency)] = 830;
  timing.critical_path[static_cast<std::size_t>(PathPart::kArrayLatency)] = 5;
  timing.busy.units = {100, 200, 100, 990};
  timing.busy.waits = {0, 0, 0, 826};
  const ArchConfig arch;
  EXPECT_EQ(limiter_words("g", timing, arch),
            "g takes 1,000 cycles and is limited by no unit: in 83.5% of these cycles it waits for "
            "the latency of DRAM, mostly in STOREs that move nothing, because as many bursts are "
            "in flight as may be (outstanding_bursts 16).");
  timing.busy.units = {990, 700, 100, 100};
  timing.busy.waits = {826, 0, 0, 0};
  const std::string loads = limiter_words("g", timing, arch);
  EXPECT_NE(loads.find("mostly in LOADs that move nothing"), std::string::npos) << loads;
  EXPECT_NE(loads.find(" Next comes the array, occupied in 70.0% of"), std::string::npos) << loads;
  timing.critical_path[static_cast<std::size_t>(PathPart::kDramLatency)] = 100;
  EXPECT_NE(limiter_words("g", timing, arch).find("one after the other"), std::string::npos);
  timing.limited_by = {Limiter::kReadBus, "read_bus", 500};
  timing.limiter_busy = 0.99;
  EXPECT_EQ(
      limiter_words("g", timing, ArchConfig{.bus_bytes = 8}),
      "g takes 1,000 cycles and is limited by the read bus: LOADs occupy it in 99.0% of these "
      "cycles, but move nothing in 82.6% of these cycles, because as many bursts are in "
      "flight as may be (outstanding_bursts 16). Next comes the array, occupied in 70.0% of "
      "these cycles.");
}

TEST(LimiterWords, SayWhatTheBestChangeGainsAndWhetherThatIsMuch) {
  ResourceChange change;
  change.field = "bus_bytes";
  change.from = 8;
  change.to = 1024;
  EXPECT_EQ(gain_words(change, 1500, 3000),
            "Of the changes below bus_bytes 8 -> 1,024 saves most: 1,500 cycles (50.0%).");
  EXPECT_EQ(gain_words(change, 10, 3000),
            "None of the changes below helps much by itself: the best, bus_bytes 8 -> 1,024, saves "
            "10 cycles (0.3%).");
  EXPECT_EQ(near_gain_words(change, 1350, 1500, 3000),
            "bus_bytes 8 -> 1,024 saves nearly as much: 1,350 cycles (45.0%).");
  EXPECT_EQ(near_gain_words(change, 1349, 1500, 3000), "");
  EXPECT_EQ(near_gain_words(change, 10, 10, 3000), "") << "less than 1% is no help";
  EXPECT_EQ(gain_words(change, 0, 3000), "None of the changes below saves a cycle.");
  EXPECT_EQ(gain_words(change, saved_cycles(3000, 4000), 3000),
            "None of the changes below saves a cycle.");
}

}  // namespace
}  // namespace qsim
