// report/profile.h: who wins by which measure, what a tie is, and which points are on the Pareto
// front.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "report/energy_text.h"
#include "report/results/pareto_front.h"
#include "report/results/profile.h"
#include "report/results/profile_csv.h"

namespace qsim {

using namespace report;
namespace {

NetworkResult ranked_point(const std::string& dataflow, std::uint64_t cycles, std::uint64_t bytes,
                           std::optional<double> energy = {}) {
  NetworkResult made;
  made.model = "net";
  made.config = "pe4x4";
  made.dataflow = dataflow;
  made.pes = 16;
  made.total.name = "total";
  made.total.cycles = cycles;
  made.total.macs = 4 * cycles;
  made.total.dram_read_bytes = bytes;
  made.total.limited_by = "array";
  made.total.energy = energy;
  made.simulated_seconds = static_cast<double>(cycles) / 1e9;
  made.layers = {made.total};
  made.layers[0].name = "conv";
  return made;
}

Profile ranked_profile(std::vector<NetworkResult> points, Measure measure = Measure::kCycles) {
  Profile profile;
  profile.measure = measure;
  profile.energy_table = points[0].total.energy ? "mine" : "";
  profile.energy_unit = points[0].total.energy ? "pJ" : "";
  profile.points = std::move(points);
  complete_points(profile);
  choose_winners(profile);
  return profile;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Winners, AnEqualMeasureIsToldAsSuchWithWhatDecides) {
  const Profile profile =
      ranked_profile({ranked_point("ws", 100, 3'000'000), ranked_point("os", 100, 2'000'000)});
  EXPECT_EQ(profile.winners[0].point, 1u);
  EXPECT_TRUE(profile.winners[0].equal.empty());
  EXPECT_EQ(profile.winners[0].reasons[0],
            "The same for os and ws: 100 cycles. os moves fewer bytes of DRAM: 2.000 MB of DRAM "
            "against 3.000 MB of DRAM.");
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "ws         16     100         equal")) << text;
  EXPECT_TRUE(has(text, "os         16     100          best")) << text;
}

TEST(Winners, PointsThatAreEqualInEverythingAreAllBest) {
  const Profile profile = ranked_profile(
      {ranked_point("is", 120, 9), ranked_point("ws", 100, 9), ranked_point("auto", 100, 9)});
  const Winner& winner = profile.winners[0];
  EXPECT_EQ(winner.point, 1u);
  EXPECT_EQ(winner.equal, (std::vector<std::size_t>{2}));
  EXPECT_EQ(winner.reasons[0], "100 cycles, 16.7% fewer than the next best, is (120 cycles).");
  EXPECT_EQ(winner.reasons[1],
            "As good in cycles, bytes of DRAM and all else that ranks them: auto.");
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "ws         16     100          best")) << text;
  EXPECT_TRUE(has(text, "auto       16     100          best")) << text;
  EXPECT_TRUE(has(text, "is         16     120        +20.0%")) << text;
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["winners"][0]["equal"], nlohmann::json::array({2}));
}

TEST(Winners, WhereAllAreEqualNoneWinsOverAnother) {
  const Profile profile = ranked_profile({ranked_point("ws", 100, 9), ranked_point("os", 100, 9)});
  EXPECT_EQ(profile.winners[0].reasons[0], "All that ran are equal: 100 cycles.");
  EXPECT_EQ(profile.winners[0].reasons[1],
            "As good in cycles, bytes of DRAM and all else that ranks them: os.");
}

TEST(Winners, TheSmallerAreaWinsOfTwoThatCostTheSame) {
  NetworkResult large = ranked_point("ws", 100, 9);
  NetworkResult small = ranked_point("ws", 100, 9);
  large.area_mm2 = 2.5;
  small.area_mm2 = 1.25;
  large.config = "large";
  small.config = "small";
  const Profile profile = ranked_profile({large, small});
  EXPECT_EQ(profile.winners[0].point, 1u);
  EXPECT_EQ(profile.winners[0].reasons[0],
            "The same for small and large: 100 cycles. small has less area: 1.25 mm2 against 2.5 "
            "mm2.");
  large.area_mm2 = small.area_mm2 = {};
  large.pes = 64;
  EXPECT_EQ(ranked_profile({large, small}).winners[0].point, 1u);
}

TEST(Winners, ADifferenceIsNeverShownAsNone) {
  const std::string text = profile_text(
      ranked_profile({ranked_point("ws", 1'000'000, 9), ranked_point("os", 1'000'001, 9)}));
  EXPECT_TRUE(has(text, "1,000,001      +0.0001%")) << text;
  EXPECT_TRUE(has(text, "0.0001% fewer than the next best, os (1,000,001 cycles)")) << text;
}

TEST(Winners, TheMeasureNamesTheWinnerAndTheUnit) {
  const std::vector<NetworkResult> points = {ranked_point("ws", 100, 9, 4e6),
                                             ranked_point("os", 300, 5, 2e6)};
  const auto text = [&](Measure measure) { return profile_text(ranked_profile(points, measure)); };
  EXPECT_TRUE(has(text(Measure::kCycles), "(fewest cycles): pe4x4, ws\n  100 cycles, 66.7% fewer"));
  EXPECT_TRUE(has(text(Measure::kDramBytes), "(fewest bytes of DRAM): pe4x4, os\n"));
  EXPECT_TRUE(has(text(Measure::kEnergy),
                  "(least energy): pe4x4, os\n  2 uJ, 50.0% less than the next best, ws (4 uJ)."))
      << text(Measure::kEnergy);
  EXPECT_TRUE(has(text(Measure::kEnergyDelay),
                  "(least energy x cycles): pe4x4, ws\n  0.0004 uJ x Mcycle, 33.3% less than"))
      << text(Measure::kEnergyDelay);
}

TEST(Winners, EnergyHasItsColumnsInTheUnitOfTheTable) {
  Profile profile = ranked_profile({ranked_point("ws", 2'000'000, 9, 3e6)});
  profile.points[0].area_mm2 = 1.5;
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "energy uJ  EDP uJ x Mcycle  TOPS/W  mm2  limited by\n")) << text;
  EXPECT_TRUE(has(text, "        3                6   5.333  1.5  array 0.0%\n")) << text;
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["energy"], (nlohmann::json{{"table", "mine"}, {"unit", "pJ"}}));
  EXPECT_EQ(json["points"][0]["energy_delay"], 6e12);
  EXPECT_EQ(json["points"][0]["area_mm2"], 1.5);
  EXPECT_DOUBLE_EQ(json["points"][0]["tops_per_watt"].get<double>(), 16.0 / 3);
  EXPECT_TRUE(has(profile_csv(profile, ProfileColumns::kQsim),
                  ",3000000.000000,6000000000000.000000,5.333333,1.500000,,0.002000,16,yes,\n"))
      << profile_csv(profile, ProfileColumns::kQsim);
  profile.energy_unit = "MAC of 16 bits";
  complete_points(profile);
  const std::string others = profile_text(profile);
  EXPECT_TRUE(has(others, "energy (million)  EDP (million x Mcycle)  TOPS/W")) << others;
  EXPECT_TRUE(has(others,
                  "\nenergy: in millions of the unit, which is MAC of 16 bits; EDP: energy "
                  "x million cycles\n"))
      << others;
  EXPECT_FALSE(has(text, "in millions"));
  EXPECT_EQ(energy_text(3e6, "MAC"), "3 million x MAC");
  EXPECT_EQ(energy_delay_text(3e12, "MAC"), "3 million x MAC x Mcycle");
}

TEST(Winners, AnAreaThatIsExtrapolatedIsMarkedAndExplained) {
  NetworkResult counted = ranked_point("ws", 100, 9, 3e6);
  NetworkResult wide = ranked_point("ws", 110, 9, 3e6);
  counted.area_mm2 = 1.5;
  wide.area_mm2 = 2.5;
  wide.area_extrapolated = "array_cols 32 (counted: 4 to 16)";
  wide.config = "wide";
  const Profile profile = ranked_profile({counted, wide, wide});
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "  1.5  array")) << text;
  EXPECT_TRUE(has(text, " 2.5*  array")) << text;
  const std::string note = "* the area is extrapolated: array_cols 32 (counted: 4 to 16)\n";
  EXPECT_TRUE(has(text, "\n" + note)) << text;
  EXPECT_EQ(text.find(note), text.rfind(note)) << "one line for equal reasons";
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["points"][0]["area_extrapolated"], "");
  EXPECT_EQ(json["points"][1]["area_extrapolated"], wide.area_extrapolated);
  EXPECT_TRUE(has(profile_csv(profile, ProfileColumns::kQsim),
                  ",2.500000,array_cols 32 (counted: 4 to 16),"));
}

// Beside another column it would be read as that one's.
TEST(Winners, TheDifferenceIsBesideWhatItCompares) {
  const NetworkResult first = ranked_point("ws", 2'000'000, 9'000'000, 4e6);
  const NetworkResult second = ranked_point("os", 1'000'000, 18'000'000, 6e6);
  const auto text = [&](Measure measure) {
    return profile_text(ranked_profile({first, second}, measure));
  };
  EXPECT_TRUE(has(text(Measure::kCycles), "   cycles  against best  util  "));
  EXPECT_TRUE(has(text(Measure::kCycles), "2,000,000       +100.0%  "));
  const std::string bytes = text(Measure::kDramBytes);
  EXPECT_TRUE(has(bytes, "read MB  write MB  sum against best  energy uJ")) << bytes;
  EXPECT_TRUE(has(bytes, " 18.000     0.000           +100.0%  ")) << bytes;
  EXPECT_TRUE(has(bytes, "   cycles  util  ")) << bytes;
  const std::string energy = text(Measure::kEnergy);
  EXPECT_TRUE(has(energy, "energy uJ  against best  EDP uJ x Mcycle  TOPS/W")) << energy;
  EXPECT_TRUE(has(energy, "        6        +50.0%  ")) << energy;
  const std::string product = text(Measure::kEnergyDelay);
  EXPECT_TRUE(has(product, "EDP uJ x Mcycle  against best  TOPS/W")) << product;
  EXPECT_TRUE(has(product, "              8        +33.3%  ")) << product;
}

TEST(Winners, AreOfThePointsThatHadMemoryAndSaySo) {
  NetworkResult lacking = ranked_point("os", 0, 0);
  lacking.error = "model 'net': needs about 2 GB; 1 GB are available";
  lacking.lacks_memory = true;
  const Profile profile = ranked_profile({ranked_point("ws", 100, 9), lacking});
  EXPECT_EQ(profile.winners[0].reasons.back(),
            "It is the best of those that had memory: 1 point had none, and might be better.");
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "  no memory\n")) << text;
  EXPECT_TRUE(has(text, "\nhas no memory\n  net on pe4x4, os: model 'net': needs about 2 GB; "))
      << text;
  EXPECT_FALSE(has(text, "does not run")) << text;
}

TEST(Winners, TimeIsShownWhereClocksDiffer) {
  NetworkResult slow = ranked_point("ws", 2'000'000, 9);
  const NetworkResult fast = ranked_point("os", 2'500'000, 9);
  EXPECT_FALSE(has(profile_text(ranked_profile({slow, fast})), "time"));
  slow.simulated_seconds = 0.01;
  const Profile profile = ranked_profile({slow, fast});
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text, "   cycles  against best     time")) << text;
  EXPECT_TRUE(has(text, "2,000,000          best  10.0 ms")) << text;
  EXPECT_TRUE(has(text, "2,500,000        +25.0%   2.5 ms")) << text;
  EXPECT_TRUE(has(text,
                  "\nthe clocks differ: the winner has the fewest cycles, which need not be "
                  "the least time\n"))
      << text;
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["points"][0]["simulated_seconds"], 0.01);
}

TEST(Winners, TheFrontOfEachModelIsNamed) {
  NetworkResult other = ranked_point("ws", 5, 5);
  other.model = "other";
  NetworkResult wide = ranked_point("ws", 50, 900);
  wide.pes = 64;
  wide.config = "pe8x8";
  const Profile profile = ranked_profile({ranked_point("ws", 100, 9), ranked_point("os", 110, 8),
                                          ranked_point("is", 120, 9), wide, other});
  std::vector<bool> front;
  for (const NetworkResult& each : profile.points) front.push_back(each.is_on_front);
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, true, true}));
  const std::string text = profile_text(profile);
  EXPECT_TRUE(has(text,
                  "  Pareto front in cycles, bytes of DRAM and PEs, 3 of 4 points: pe4x4, ws; "
                  "pe4x4, os; pe8x8, ws.\n"))
      << text;
  EXPECT_FALSE(has(text, "1 of 1 points"));
  const nlohmann::json json = nlohmann::json::parse(profile_json(profile));
  EXPECT_EQ(json["points"][2]["pareto_front"], false);
  EXPECT_EQ(json["points"][3]["pareto_front"], true);
}

bool beats(const PointCosts& a, const PointCosts& b) {
  return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2] && a != b;
}

TEST(ParetoFront, IsThatOfTheDefinitionOfRandomPoints) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t most = random.uniform(1, 12);
    std::vector<PointCosts> points(static_cast<std::size_t>(random.uniform(1, 60)));
    for (PointCosts& costs : points) {
      for (double& cost : costs) cost = static_cast<double>(random.uniform(0, most));
    }
    const std::vector<bool> front = pareto_front(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_beaten =
          std::any_of(points.begin(), points.end(),
                      [&](const PointCosts& other) { return beats(other, points[i]); });
      EXPECT_EQ(front[i], !is_beaten) << i;
    }
  }
}

}  // namespace
}  // namespace qsim
