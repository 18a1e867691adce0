// report/results/profile.h and what prints it: who wins, why, the table, the CSV, and JSON there
// and back.
#include "report/results/profile.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/results/profile_csv.h"
#include "report/results/result_comparison.h"
#include "report/results/result_json.h"

namespace qsim {

using namespace report;
namespace {

ResultLayer layer(const std::string& name, std::uint64_t cycles, std::uint64_t read_bytes,
                  const std::string& limited_by) {
  ResultLayer made;
  made.name = name;
  made.operation = "conv2d";
  made.dataflow = "weight_stationary";
  made.mapping = "1 tile";
  made.macs = 4 * cycles;
  made.cycles = cycles;
  made.utilization = 0.25;
  made.dram_read_bytes = read_bytes;
  made.dram_write_bytes = 100;
  made.stream_cycles = cycles / 2;
  made.start_cycles = cycles / 10;
  made.edge_lane_pe_cycles = 4 * cycles;
  made.limited_by = limited_by;
  made.limiter_busy = 0.75;
  made.accesses =
      OperandAccesses{{10, 19, 40}, {0, 9, 50}, {20, 29, 60}, {0, 3, 8}, {4, 7, 2}, {30, 39, 100}};
  return made;
}

NetworkResult point(const std::string& dataflow, std::uint64_t conv, std::uint64_t fc,
                    std::uint64_t read_bytes = 1'000'000) {
  NetworkResult made;
  made.model = "net";
  made.config = "pe4x4";
  made.dataflow = dataflow;
  made.pes = 16;
  made.layers = {layer("conv", conv, read_bytes / 2, "array"),
                 layer("fc", fc, read_bytes / 2, dataflow == "ws" ? "weights" : "write_bus")};
  made.total = layer("total", conv + fc, read_bytes, "array");
  made.total.accesses.reset();
  return made;
}

Profile profile_of(std::vector<NetworkResult> points) {
  Profile profile;
  profile.points = std::move(points);
  complete_points(profile);
  choose_winners(profile);
  return profile;
}

NetworkResult refused() {
  NetworkResult made;
  made.model = "net";
  made.config = "pe4x4";
  made.set = {{"array_rows", 3}};
  made.dataflow = "os";
  made.error = "config 'pe4x4': array_rows is 3; allowed: a power of two from 4 to 256";
  return made;
}

TEST(Profile, TheFewestCyclesWinAndTheLayerThatMakesTheDifferenceIsSaid) {
  const Profile profile = profile_of({point("ws", 100, 1000), point("os", 110, 900), refused()});
  ASSERT_EQ(profile.winners.size(), 1u);
  const Winner& winner = profile.winners[0];
  EXPECT_EQ(winner.point, 1u);
  ASSERT_EQ(winner.reasons.size(), 4u);
  EXPECT_EQ(winner.reasons[0], "1,010 cycles, 8.2% fewer than the next best, ws (1,100 cycles).");
  EXPECT_EQ(winner.reasons[1],
            "It is limited by the array (75.0% busy); utilization 25.0%, 1.000 "
            "MB of DRAM.");
  EXPECT_EQ(winner.reasons[2],
            "fc: os takes 900 cycles, 10.0% fewer than ws (1,000 cycles): os is limited by the "
            "write bus (75.0% busy), ws limited by loads of weights (75.0% busy); its folds occupy "
            "the array in 450 cycles against 500.");
  EXPECT_EQ(winner.reasons[3].substr(0, 54),
            "conv: os takes 110 cycles, 10.0% more than ws (100 cyc");
}

TEST(Profile, EqualCyclesAreDecidedByBytesThenByOrder) {
  EXPECT_EQ(profile_of({point("ws", 100, 900), point("os", 100, 900)}).winners[0].point, 0u);
  EXPECT_EQ(profile_of({point("ws", 100, 900, 2'000'000), point("os", 100, 900)}).winners[0].point,
            1u);
}

TEST(Profile, TheReasonsNameWhatTellsTheTwoApart) {
  NetworkResult slow = point("ws", 100, 1000);
  NetworkResult fast = point("ws", 90, 900);
  slow.set = {{"array_rows", 8}, {"bus_bytes", 4}};
  fast.set = {{"array_rows", 8}, {"bus_bytes", 16}};
  const Winner winner = profile_of({slow, fast}).winners[0];
  EXPECT_EQ(winner.reasons[0],
            "990 cycles, 10.0% fewer than the next best, bus_bytes 4 (1,100 cycles).");
  EXPECT_EQ(winner.reasons[2].rfind("fc: bus_bytes 16 takes 900 cycles", 0), 0u);
}

TEST(Profile, TheMeasureDecidesAndNotTheCycles) {
  Profile profile;
  profile.measure = Measure::kDramBytes;
  profile.points = {point("ws", 100, 900, 3'000'000), point("os", 500, 900, 1'000'000)};
  choose_winners(profile);
  EXPECT_EQ(profile.winners[0].point, 1u);
  profile.winners.clear();
  profile.measure = Measure::kEnergyDelay;
  profile.points[0].total.energy = 10;  // x 1000
  profile.points[1].total.energy = 9;   // x 1400
  choose_winners(profile);
  EXPECT_EQ(profile.winners[0].point, 0u);
}

TEST(Profile, EachModelHasItsWinnerUnlessItRanNowhere) {
  NetworkResult other = point("ws", 5, 5);
  other.model = "other";
  NetworkResult nowhere = refused();
  nowhere.model = "nowhere";
  const Profile profile = profile_of({point("ws", 100, 900), other, nowhere});
  ASSERT_EQ(profile.winners.size(), 2u);
  EXPECT_EQ(profile.winners[1].model, "other");
  EXPECT_EQ(profile.winners[1].reasons[0], "It is the only one that ran: 10 cycles.");
}

TEST(Profile, TheTableHasARowForEachPointAndSaysWhyOneDoesNotRun) {
  const std::string text = profile_text(profile_of({point("ws", 100, 1000), refused()}));
  for (const char* part :
       {"config  array_rows  dataflow",
        "pe4x4            -  ws         16   1,100          best  25.0%",
        "does not run\n  net on pe4x4, array_rows 3, os: config 'pe4x4': array_rows is 3; allowed",
        "\nwinner for net (fewest cycles): pe4x4, ws\n  It is the only one that ran: 1,100 "
        "cycles.\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Profile, JsonComesBackAsItWas) {
  Profile profile = profile_of({point("ws", 100, 1000), refused()});
  profile.points[0].layers[1].energy = 12.5;
  profile.points[0].set = {{"bus_bytes", 8}};
  const std::string path = ::testing::TempDir() + "profile_test.json";
  std::ofstream(path) << profile_json(profile);
  const ResultsFile file = load_results(path);
  EXPECT_FALSE(file.is_run);
  ASSERT_EQ(file.results.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(result_json(file.results[i]), result_json(profile.points[i]));
    EXPECT_TRUE(same_point(file.results[i], profile.points[i]));
  }
  EXPECT_EQ(file.results[0].layers[1].energy, 12.5);
  EXPECT_EQ(file.results[0].layers[0].accesses, profile.points[0].layers[0].accesses);
  EXPECT_EQ(file.results[1].error, profile.points[1].error);
}

void expect_refused(const std::string& content, const std::string& message) {
  const std::string path = ::testing::TempDir() + "profile_test_wrong.json";
  std::ofstream(path) << content;
  try {
    load_results(path);
    ADD_FAILURE() << content;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(error.what(), path + message);
  }
}

TEST(Profile, AFileThatIsNoResultIsRefusedWithThePlace) {
  const std::string expected = "; expected what `qsim run --json` or `qsim profile --json` writes";
  expect_refused("{", ": is not JSON" + expected);
  expect_refused("[]", ": expected an object" + expected);
  expect_refused("{}", ": has no 'schema'" + expected);
  expect_refused(R"({"schema": 3})", ": 'schema' is not a text" + expected);
  expect_refused(R"({"schema": "qsim.verify/1"})",
                 ": schema 'qsim.verify/1'; expected qsim.run/3 or qsim.profile/1");
  expect_refused(R"({"schema": "qsim.profile/1", "points": {}})",
                 ": 'points' is not an array" + expected);
  expect_refused(R"({"schema": "qsim.profile/1", "points": [{"model": "m", "config": "c",
                   "set": {"bus_bytes": 0.5}, "dataflow": "ws"}]})",
                 ", points[0], set: 'bus_bytes' is neither a whole number nor a word" + expected);
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(profile_json(profile_of({point("ws", 1, 2)})));
  json["points"][0]["layers"][1]["cycles"] = -5;
  expect_refused(json.dump(), ", points[0], layers[1]: 'cycles' is not a count" + expected);
  json["points"][0]["layers"][1]["cycles"] = nullptr;
  expect_refused(json.dump(),
                 ", points[0], layers[1]: has no cycles: the engine had no time" + expected);
  json["points"][0]["layers"][1]["cycles"] = 5;
  json["points"][0]["layers"][1]["utilization"] = "high";
  expect_refused(json.dump(), ", points[0], layers[1]: 'utilization' is not a number" + expected);
}

TEST(Profile, CsvHasALineForEachLayerAndTotalAndRefusal) {
  const std::string csv =
      profile_csv(profile_of({point("ws", 100, 1000), refused()}), ProfileColumns::kQsim);
  EXPECT_EQ(
      csv,
      "model,config,array_rows,asked_dataflow,layer,op,dataflow,mapping,macs,cycles,"
      "utilization,dram_read_bytes,dram_write_bytes,stream_cycles,start_cycles,limited_by,"
      "limiter_busy,energy,energy_delay,tops_per_watt,area_mm2,area_extrapolated,"
      "simulated_seconds,pes,pareto_front,error\n"
      "net,pe4x4,,ws,conv,conv2d,weight_stationary,1 tile,400,100,0.250000,500000,100,50,10,"
      "array,0.750000,,,,,,,,,\n"
      "net,pe4x4,,ws,fc,conv2d,weight_stationary,1 tile,4000,1000,0.250000,500000,100,500,"
      "100,weights,0.750000,,,,,,,,,\n"
      "net,pe4x4,,ws,total,conv2d,weight_stationary,1 tile,4400,1100,0.250000,1000000,100,"
      "550,110,array,0.750000,,,,,,,16,yes,\n"
      "net,pe4x4,3,os,,,,,,,,,,,,,,,,,,,,,,config 'pe4x4': array_rows is 3; allowed: a power of "
      "two from 4 to 256\n");
}

TEST(Profile, CsvInScaleSimsColumnsIsOfOneRun) {
  const Profile profile = profile_of({point("ws", 100, 1000)});
  // 100 cycles, 10 of them before the first EXECUTE, 50 in which the array streams; 16 PEs.
  EXPECT_EQ(profile_csv(profile, ProfileColumns::kScaleSimCompute),
            "LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, "
            "Mapping Efficiency %, Compute Util %,\n"
            "0, 100, 90, 40, 27.777778, 50.000000, 50.000000,\n"
            "1, 1000, 900, 400, 27.777778, 50.000000, 50.000000,\n");
  EXPECT_EQ(profile_csv(profile, ProfileColumns::kScaleSimBandwidth),
            "LayerID, Avg IFMAP SRAM BW, Avg FILTER SRAM BW, Avg OFMAP SRAM BW, "
            "Avg IFMAP DRAM BW, Avg FILTER DRAM BW, Avg OFMAP DRAM BW,\n"
            "0, 0.444444, 0.555556, 0.666667, 2.000000, 0.500000, 10.000000,\n"
            "1, 0.044444, 0.055556, 0.066667, 2.000000, 0.500000, 10.000000,\n");
  const std::string access = profile_csv(profile, ProfileColumns::kScaleSimAccess);
  EXPECT_NE(access.find("\n0, 10, 19, 40, 0, 9, 50, 20, 29, 60, 0, 3, 8, 4, 7, 2, 30, 39, 100,\n"),
            std::string::npos)
      << access;
}

TEST(Profile, CsvInScaleSimsColumnsNamesTheRunWhereThereAreSeveral) {
  const std::string csv = profile_csv(profile_of({point("ws", 100, 1000), refused()}),
                                      ProfileColumns::kScaleSimCompute);
  EXPECT_EQ(csv.rfind("Run, LayerID, Total", 0), 0u) << csv;
  EXPECT_NE(csv.find("\n\"net on pe4x4, ws\", 0, 100, 90, 40,"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("array_rows"), std::string::npos) << "what does not run has no layers";
}

std::vector<std::string> sentences(const Sheet& sheet) {
  std::vector<std::string> found;
  for (const auto& row : sheet.tables[0].rows) found.push_back(std::get<std::string>(row[0]));
  return found;
}

TEST(Comparison, SaysWhatChangedAndWhere) {
  NetworkResult after = point("ws", 100, 900);
  after.layers[1].mapping = "2 tiles";
  after.total.macs = point("ws", 100, 1000).total.macs;
  const Sheet sheet =
      comparison_sheet({"old.json", true, {point("ws", 100, 1000)}}, {"new.json", true, {after}});
  EXPECT_EQ(sentences(sheet),
            (std::vector<std::string>{
                "new.json takes 9.1% fewer cycles than old.json and moves as many bytes of DRAM as "
                "old.json.",
                "fc: new.json takes 900 cycles, 10.0% fewer than old.json (1,000 cycles): both are "
                "limited by loads of weights (75.0% busy); its folds occupy the array in 450 "
                "cycles against 500; mapping '2 tiles' against '1 tile'."}));
  EXPECT_EQ(sheet.tables[2].name, "layers");
  EXPECT_EQ(sheet.tables[2].rows.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(sheet.tables[2].rows[1][2]), 900);
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.tables[2].rows[1][3]), -0.1);
}

TEST(Comparison, OfEqualResultsSaysSo) {
  const ResultsFile file{"a.json", true, {point("ws", 100, 1000)}};
  EXPECT_EQ(sentences(comparison_sheet(file, file)),
            (std::vector<std::string>{"Cycles and bytes of DRAM are the same in both."}));
}

TEST(Comparison, NamesNoReasonThatPointsTheOtherWay) {
  NetworkResult after = point("ws", 100, 900);
  after.layers[1].stream_cycles = 600;  // more than the 500 of the slower one
  const Sheet sheet =
      comparison_sheet({"old.json", true, {point("ws", 100, 1000)}}, {"new.json", true, {after}});
  EXPECT_EQ(sentences(sheet).back(),
            "fc: new.json takes 900 cycles, 10.0% fewer than old.json (1,000 cycles): both are "
            "limited by loads of weights (75.0% busy).");
}

TEST(Comparison, SaysThatTheWorkDiffers) {
  NetworkResult batch = point("ws", 100, 1000);
  batch.total.macs *= 2;
  const Sheet sheet =
      comparison_sheet({"a.json", true, {point("ws", 100, 1000)}}, {"b.json", true, {batch}});
  EXPECT_EQ(sentences(sheet).at(0),
            "a.json and b.json are of other work: 4,400 MACs against 8,800.");
}

NetworkResult with_energy(double energy, const std::string& table) {
  NetworkResult made = point("ws", 100, 1000);
  made.energy_table = table;
  made.energy_unit = "pJ";
  made.total.energy = energy;
  for (ResultLayer& one : made.layers) one.energy = energy / 2;
  return made;
}

TEST(Comparison, ComparesEnergiesOfOneTable) {
  const Sheet sheet = comparison_sheet({"a.json", true, {with_energy(2e6, "mine")}},
                                       {"b.json", true, {with_energy(3e6, "mine")}});
  EXPECT_EQ(sentences(sheet).at(0),
            "b.json takes as many cycles as a.json and moves as many bytes of DRAM as a.json. It "
            "takes 50.0% more energy than a.json.");
  EXPECT_EQ(sheet.tables[1].columns.back(), "change_of_energy");
  EXPECT_EQ(std::get<std::string>(sheet.tables[1].rows.at(0).at(10)), "3 uJ");
  EXPECT_DOUBLE_EQ(std::get<double>(sheet.tables[2].rows.at(0).at(11)), 0.5);
}

TEST(Comparison, DoesNotCompareEnergiesOfTwoTables) {
  const Sheet sheet = comparison_sheet({"a.json", true, {with_energy(2e6, "mine")}},
                                       {"b.json", true, {with_energy(2e6, "yours")}});
  EXPECT_EQ(sentences(sheet).at(0),
            "Energies are not compared: those of a.json are by the table mine, those of b.json by "
            "yours.");
  EXPECT_EQ(sheet.tables[1].columns.back(), "limited_by_after");
}

TEST(Comparison, OfProfilesIsByPointAndNamesWhatOneLacks) {
  NetworkResult other = point("is", 1, 1);
  const ResultsFile first{"a.json", false, {point("ws", 100, 1000), point("os", 9, 9)}};
  const ResultsFile second{"b.json", false, {other, point("ws", 100, 1001)}};
  const Sheet sheet = comparison_sheet(first, second);
  EXPECT_EQ(sheet.tables[1].rows.size(), 1u);
  EXPECT_EQ(sheet.tables[3].name, "only_in_first");
  EXPECT_EQ(std::get<std::string>(sheet.tables[3].rows.at(0)[0]), "net on pe4x4, os");
  EXPECT_EQ(std::get<std::string>(sheet.tables[4].rows.at(0)[0]), "net on pe4x4, is");
  EXPECT_THROW(comparison_sheet({"a.json", false, {point("ws", 1, 1), point("os", 1, 1)}},
                                {"b.json", false, {other}}),
               Error);
}

TEST(Comparison, NamesLayersThatOneLacksAndPointsThatDoNotRun) {
  NetworkResult shorter = point("ws", 100, 1000);
  shorter.layers.pop_back();
  const Sheet sheet =
      comparison_sheet({"a.json", true, {point("ws", 100, 1000)}}, {"b.json", true, {shorter}});
  EXPECT_EQ(sentences(sheet).back(), "Only a.json has: fc.");
  const Sheet failed =
      comparison_sheet({"a.json", false, {point("ws", 100, 1000)}}, {"b.json", false, {refused()}});
  EXPECT_EQ(sentences(failed).at(0).rfind("in b.json it does not run: config 'pe4x4'", 0), 0u);
}

}  // namespace
}  // namespace qsim
