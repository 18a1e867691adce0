// report/table_printer.h, json_printer.h, layers_csv.h and sheet.h
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/json_printer.h"
#include "report/layers_csv.h"
#include "report/sheet.h"
#include "report/table_printer.h"
#include "report/text_table.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

using PlainJson = nlohmann::json;

template <typename Print>
std::string printed(Print print, const RunReport& report) {
  std::ostringstream out;
  print(report, out);
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TablePrinter, LayersHaveTheirNumbersAndTotalsStandLast) {
  const std::vector<std::string> lines = lines_of(printed(print_layers, sample_report()));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[2], "conv1     conv2d+relu      1 tile    400");
  EXPECT_EQ(lines[4], "total                                520");
}

TEST(TablePrinter, CostsNameWhatLimitsEachLayerAndTheRun) {
  RunReport report = sample_report();
  report.layers[0].dram_read_bytes = 1'234'567;
  const std::vector<std::string> lines = lines_of(printed(print_costs, report));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0],
            "layer     cycles   share   util  lanes  bubbles  read MB  write MB  limited by");
  EXPECT_EQ(lines[2],
            "conv1        100   52.6%  25.0%   5.0%        -    1.235     0.000  dependence 47.0%");
  EXPECT_EQ(lines[3],
            "fc, last      90   47.4%   8.3%   2.8%    11.1%    0.000     0.000  dependence 71.1%");
  EXPECT_EQ(lines[4],
            "total        190  100.0%  17.1%   3.9%     5.3%    0.000     0.000  dependence 58.4%");
}

TEST(TablePrinter, CostsAreNoWiderThanTheLimitWithNumbersOfTenDigits) {
  RunReport report = sample_report();
  for (ReportLayer* layer : {&report.layers[0], &report.total}) {
    layer->name = std::string(30, 'n');
    layer->timing->cycles = 9'999'999'999;
    layer->dram_read_bytes = layer->dram_write_bytes = 999'999'999'999;
  }
  for (const std::string& line : lines_of(printed(print_costs, report))) {
    EXPECT_LE(line.size(), kTableColumns) << line;
  }
}

TEST(TablePrinter, TheEnergyOfEachLayerIsAColumnWhereItIsKnown) {
  RunReport report = sample_report();
  EXPECT_EQ(printed(print_costs, report).find("energy"), std::string::npos);
  report.energy = {"mine", "pJ", {}};
  report.layers[0].energy.emplace().energy.parts[0] = 1.5e6;
  report.layers[1].energy.emplace().energy.parts[0] = 2e4;
  report.total.energy.emplace().energy.parts[0] = 1.52e6;
  const std::vector<std::string> lines = lines_of(printed(print_costs, report));
  EXPECT_NE(lines[0].find("write MB  energy uJ  limited by"), std::string::npos) << lines[0];
  EXPECT_NE(lines[2].find("      1.5  "), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("     0.02  "), std::string::npos) << lines[3];
  EXPECT_NE(lines[4].find("     1.52  "), std::string::npos) << lines[4];
  report.energy->unit = "MAC";
  EXPECT_NE(printed(print_costs, report).find("write MB  energy (million)  limited by"),
            std::string::npos);
}

TEST(TablePrinter, EveryRatioOfBoundsIsThatOfTwoColumns) {
  RunReport report = sample_report();
  add_bounds(report, std::vector<LayerBounds>{{25, 8, 12, 25, 64}, {10, 50, 2, 50, 32}});
  const std::vector<std::string> lines = lines_of(printed(print_bounds, report));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[1], "layer     cycles  MACs/PEs  bus  larger  times     MB  MB once  times");
  EXPECT_EQ(lines[3], "conv1        100        25   12      25   4.00  0.000    0.000   1.25");
  EXPECT_EQ(lines[4], "fc, last      90        10   50      50   1.80  0.000    0.000   0.50");
  EXPECT_EQ(lines[5], "total        190        35   58      75   2.53  0.000    0.000   1.00");
}

TEST(TablePrinter, EngineWithoutTimeSaysOnlyTheBytes) {
  RunResult result = sample_result();
  result.times = {};
  RunReport report;
  add_layers(report, sample_program(), result);
  EXPECT_EQ(lines_of(printed(print_costs, report))[2],
            "conv1          -      -     -      -        -    0.000     0.000  -");
}

TEST(TablePrinter, OperationsAndNamesAreCutAndMappingsAreWholeHoweverLongANameIs) {
  RunReport report = sample_report();
  report.layers[0].name = std::string(90, 'n');
  report.layers[0].operation = "conv2d+relu+max_pool";
  report.layers[0].mapping = "14x28 x32 blocks, 2 act chunks, 6 weight chunks";
  report.layers[1].operation = "flatten+fully_connected+relu";
  const std::string text = printed(print_layers, report);
  EXPECT_NE(text.find("nn..  conv2d+relu+max_pool "), std::string::npos) << text;
  EXPECT_NE(text.find(" 14x28 x32 blocks, 2 act chunks, 6 weight chunks "), std::string::npos)
      << text;
  EXPECT_NE(text.find(" flatten+fully_conn"), std::string::npos) << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), kTableColumns) << line;
}

TEST(TablePrinter, WhereTheCyclesWentAddsUpInEveryRow) {
  const std::string text = printed(print_where_the_cycles_went, sample_report());
  double total = 0;
  int parts = 0;
  for (const std::string& line : lines_of(text)) {
    double share = 0;
    if (std::sscanf(line.c_str(), " %lf%%", &share) != 1) continue;
    total += share;
    ++parts;
  }
  EXPECT_EQ(parts, 9);
  EXPECT_NEAR(total, 100.0, 1e-9);  // decimal text, not a measurement
  EXPECT_NE(text.find("16 PEs x 190 cycles"), std::string::npos);
  EXPECT_NE(text.find("17.1%  useful MACs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("33.2%  waiting for the latency of DRAM\n"), std::string::npos) << text;
}

TEST(TablePrinter, EnergyHasItsPartsAndNamesWhatIsNotCounted) {
  const EnergyTable table = {.name = "mine",
                             .unit = "pJ",
                             .mac = 0.5,
                             .add = std::nullopt,
                             .hop = std::nullopt,
                             .sram = {{8, 1, 8}},
                             .dram = 2,
                             .operations = {}};
  RunReport report = sample_report();
  EXPECT_EQ(printed(print_energy, report), "");
  add_energy(report, sample_program(), table);
  // 640 MACs of 0.5; 48 bytes each way of 2 pJ a bit.
  const std::string text = printed(print_energy, report);
  EXPECT_NE(text.find("  macs: 320.00 pJ\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  dram read: 768.00 pJ\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  dram write: 768.00 pJ\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not in the table, so not counted: array registers, adds\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.rfind("energy by mine: ", 0), 0u) << text;
  EXPECT_NE(text.find(" nJ, "), std::string::npos) << text;
}

TEST(TablePrinter, AreaHasItsPartsAndSaysWhatIsExtrapolated) {
  EnergyTable table = {.name = "mine",
                       .unit = "pJ",
                       .mac = 0.5,
                       .add = std::nullopt,
                       .hop = std::nullopt,
                       .sram = {{8, 1, 8}},
                       .dram = 2,
                       .operations = {}};
  RunReport report = sample_report();
  add_energy(report, sample_program(), table);
  EXPECT_EQ(printed(print_area, report), "");
  table.area = AreaTable{.gate = 1, .flip_flop = 1, .sram_bit = 0.5};
  add_energy(report, sample_program(), table);
  report.area->cells = {};
  report.area->cells.parts[static_cast<std::size_t>(AreaPart::kPes)] = {500'000, 250'000, 0};
  report.area->cells.parts[static_cast<std::size_t>(AreaPart::kPsumAdders)] = {0, 0, 500'000};
  const std::string text = printed(print_area, report);
  EXPECT_EQ(text.rfind("area of cells by mine: 1.000 mm2\n   75.0%  0.750 mm2  pes\n", 0), 0U)
      << text;
  EXPECT_NE(text.find("   25.0%  0.250 mm2  psum adders\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("extrapolated"), std::string::npos) << text;
  report.area->cells.outside = "array_rows 32 (counted: 4 to 16)";
  EXPECT_NE(printed(print_area, report).find("\nextrapolated: array_rows 32 (counted: 4 to 16)\n"),
            std::string::npos);
}

TEST(TablePrinter, ClassesAndVerifyLineReadAsSentences) {
  RunReport report = sample_report();
  EXPECT_EQ(printed(print_classes, report), "chelsea-32x32: cat 84.4%, dog 11.4%\n");
  for (OutputClass& entry : report.top) entry.probability.reset();
  report.top[0].label.clear();
  EXPECT_EQ(printed(print_classes, report), "chelsea-32x32: class 1: 4, dog: 2\n");
  EXPECT_EQ(printed(print_verify_line, report), "verify: golden cpu, 48 values, 0 mismatches\n");
  report.verify->comparison.layers[1].mismatches = 2;
  report.verify->comparison.first = Divergence{"fc, last", std::nullopt, 0, 0, 1, 3, -5, 7};
  EXPECT_EQ(printed(print_verify_line, report),
            "verify: golden cpu, 48 values, 2 mismatches\n"
            "first divergence: fc, last: at n 0, y 0, x 1, c 3 expected -5, found 7\n");
  report.verify.reset();
  EXPECT_EQ(printed(print_verify_line, report), "verify: not compared\n");
}

TEST(TablePrinter, NothingHasColour) {
  EXPECT_EQ(printed(print_run, sample_report()).find('\x1b'), std::string::npos);
}

TEST(JsonPrinter, HasEveryFieldThatScriptsRelyOn) {
  const PlainJson json = PlainJson::parse(run_json(sample_report()));
  EXPECT_EQ(json.at("schema"), "qsim.run/3");
  for (const char* key :
       {"version", "commit", "argv", "seed", "config_hash", "model_hash", "input_hash"}) {
    EXPECT_TRUE(json.at("provenance").contains(key)) << key;
  }
  EXPECT_EQ(json.at("config").at("array_rows"), 4);
  EXPECT_EQ(json.at("engine"), "systemc");
  ASSERT_EQ(json.at("layers").size(), 2u);
  const PlainJson& layer = json.at("layers").at(0);
  EXPECT_EQ(layer.at("name"), "conv1");
  EXPECT_EQ(layer.at("op"), "conv2d+relu");
  EXPECT_EQ(layer.at("dataflow"), "weight_stationary");
  EXPECT_EQ(layer.at("macs"), 400);
  EXPECT_EQ(layer.at("cycles"), 100);
  EXPECT_EQ(layer.at("utilization"), 0.25);
  EXPECT_EQ(layer.at("dram_read_bytes"), 40);
  EXPECT_EQ(layer.at("dram_write_bytes"), 40);
  EXPECT_EQ(layer.at("stalls").at("act_ready"), 0);
  EXPECT_EQ(layer.at("start_cycles"), 30);
  EXPECT_EQ(layer.at("drain_cycles"), 40);
  EXPECT_EQ(layer.at("limited_by"), "dependence");
  EXPECT_EQ(layer.at("limiter_busy"), 0.47);
  const PlainJson path = {{"array", 30},       {"fold_bubbles", 0},  {"weights", 0},
                          {"activations", 10}, {"parameters", 0},    {"write_bus", 3},
                          {"post", 10},        {"dram_latency", 23}, {"array_latency", 18},
                          {"post_latency", 6}};
  EXPECT_EQ(layer.at("critical_path_cycles"), path);
  const PlainJson busy = {{"load", 10}, {"execute", 30}, {"post", 10}, {"store", 3}};
  EXPECT_EQ(layer.at("busy_cycles"), busy);
  const PlainJson read_bus = {{"activations", 10}, {"weights", 0}, {"parameters", 0}};
  EXPECT_EQ(layer.at("read_bus_cycles"), read_bus);
  const PlainJson& total = json.at("total");
  EXPECT_EQ(total.at("macs"), 520);
  EXPECT_EQ(total.at("cycles"), 190);
  EXPECT_EQ(total.at("dram_read_bytes"), 48);
  EXPECT_EQ(total.at("dram_write_bytes"), 48);
  EXPECT_EQ(total.at("simulated_seconds"), 190e-9);
  EXPECT_EQ(json.at("wall_seconds"), 0.25);
  const PlainJson phases = {
      {"import", 0.1}, {"compile", 0.2}, {"simulate", 0.25}, {"golden", 0.05}, {"compare", 0.02}};
  EXPECT_EQ(json.at("phase_seconds"), phases);
  EXPECT_EQ(json.at("output").at("top").at(0).at("label"), "cat");
  EXPECT_EQ(json.at("verify").at("golden"), "cpu");
  EXPECT_EQ(json.at("verify").at("values"), 48);
  EXPECT_EQ(json.at("verify").at("mismatches"), 0);
}

TEST(JsonPrinter, UnitsAccountForEveryCycle) {
  const PlainJson json = PlainJson::parse(run_json(sample_report()));
  ASSERT_EQ(json.at("total").at("units").size(), kUnits);
  for (const auto& [name, unit] : json.at("total").at("units").items()) {
    std::int64_t sum = 0;
    for (const auto& [key, value] : unit.items()) sum += key == "stalls" ? 0 : value.get<int>();
    for (const auto& stall : unit["stalls"]) sum += stall.get<int>();
    EXPECT_EQ(sum, 190) << name;
  }
}

TEST(JsonPrinter, EngineWithoutTimeHasNullsAndStillCountsBytes) {
  RunResult result = sample_result();
  result.times = {};
  RunReport report;
  add_layers(report, sample_program(), result);
  const PlainJson json = PlainJson::parse(run_json(report));
  EXPECT_TRUE(json.at("layers").at(0).at("cycles").is_null());
  EXPECT_TRUE(json.at("total").at("simulated_seconds").is_null());
  EXPECT_TRUE(json.at("verify").is_null());
  EXPECT_EQ(json.at("layers").at(0).at("dram_read_bytes"), 40);
}

TEST(JsonPrinter, NamesThatAreNotUtf8DoNotBreakTheDocument) {
  RunReport report = sample_report();
  report.layers[0].name = "bad \xff name";
  EXPECT_TRUE(PlainJson::accept(run_json(report)));
}

TEST(LayersCsv, ANameStaysOnItsLineAndSendsNothingToATerminal) {
  RunReport report = sample_report();
  report.layers[0].name = "a\n\x1b[31mb";
  EXPECT_EQ(lines_of(layers_csv(report))[1].find("a\\x0a\\x1b[31mb,"), 0u);
}

TEST(LayersCsv, HasOneLineALayerAndQuotesWhatNeedsQuotes) {
  const std::vector<std::string> lines = lines_of(layers_csv(sample_report()));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "name,op,dataflow,mapping,macs,cycles,utilization,dram_read_bytes,dram_write_bytes,"
            "stream_cycles,fold_bubble_cycles,start_cycles,drain_cycles,stall_act_ready,"
            "limited_by,limiter_busy,busy_load,busy_execute,busy_post,busy_store,"
            "read_bus_activations,read_bus_weights,read_bus_parameters,path_array,"
            "path_fold_bubbles,path_weights,path_activations,path_parameters,path_write_bus,"
            "path_post,path_dram_latency,path_array_latency,path_post_latency");
  EXPECT_EQ(lines[1],
            "conv1,conv2d+relu,weight_stationary,1 tile,400,100,0.250000,40,40,30,0,30,40,0,"
            "dependence,0.470000,10,30,10,3,10,0,0,30,0,0,10,0,3,10,23,18,6");
  EXPECT_EQ(
      lines[2],
      "\"fc, last\",fully_connected,weight_stationary,1 tile,120,90,0.083333,8,8,20,10,22,48,0,"
      "dependence,0.711111,2,20,2,2,2,0,0,10,10,0,2,0,2,2,40,18,6");
}

TEST(LayersCsv, BoundsAreTheLastColumnsWithTheValuesOfTheJson) {
  RunReport report = sample_report();
  add_bounds(report, std::vector<LayerBounds>{{25, 8, 12, 40, 64}, {10, 50, 2, 50, 32}});
  const std::vector<std::string> lines = lines_of(layers_csv(report));
  EXPECT_TRUE(
      lines[0].ends_with(",path_post_latency,bound_mac_cycles,bound_bus_cycles,"
                         "bound_cycles,bound_dram_bytes,bound_cycles_ratio,"
                         "bound_dram_bytes_ratio"))
      << lines[0];
  EXPECT_TRUE(lines[1].ends_with(",18,6,25,12,40,64,2.500000,1.250000")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with(",18,6,10,50,50,32,1.800000,0.500000")) << lines[2];
  for (ReportLayer& layer : report.layers) layer.timing.reset();
  report.total.timing.reset();
  const std::string without_time = lines_of(layers_csv(report))[1];
  EXPECT_TRUE(without_time.ends_with(",40,40,,,,,25,12,40,64,,1.250000")) << without_time;
}

TEST(Sheet, ListOfSentencesIsNeverCut) {
  Sheet sheet;
  const std::string sentence(300, 'x');
  sheet.tables.push_back({"broken_rules", {"violation"}, {{sentence}}});
  EXPECT_EQ(sheet_text(sheet), "broken rules\n  " + sentence + "\n");
}

TEST(Sheet, OnlyNamesInTheFirstColumnAreCut) {
  Sheet sheet;
  const std::string list(120, 'y');
  sheet.tables.push_back({"checks", {"check", "found"}, {{std::string(40, 'x'), list}}});
  // Which cannot fit, so nothing is cut; the next table can.
  EXPECT_NE(sheet_text(sheet).find(std::string(40, 'x') + "  " + list + "\n"), std::string::npos);
  sheet.tables.back().rows = {{std::string(80, 'x'), list.substr(0, 60)}};
  EXPECT_NE(sheet_text(sheet).find("xx..  " + list.substr(0, 60) + "\n"), std::string::npos);
}

TEST(Sheet, TextAndJsonSayTheSame) {
  Sheet sheet;
  sheet.schema = "qsim.test/1";
  sheet.add("dram_bytes", std::int64_t{12345});
  sheet.add("fine", true);
  sheet.tables.push_back({"rows", {"name", "share"}, {{std::string("a"), 0.5}}});
  EXPECT_EQ(sheet_text(sheet),
            "dram bytes  12,345\nfine        yes\n\nrows\nname  share\n----  -----\na     50.0%\n");
  const PlainJson json = PlainJson::parse(sheet_json(sheet));
  EXPECT_EQ(json.at("schema"), "qsim.test/1");
  EXPECT_EQ(json.at("dram_bytes"), 12345);
  EXPECT_EQ(json.at("fine"), true);
  EXPECT_EQ(json.at("rows").at(0).at("share"), 0.5);
}

}  // namespace
}  // namespace qsim
