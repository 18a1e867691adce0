// report/conditions/condition.h: what conditions mean, and what is said of wrong ones.
#include "report/conditions/condition.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace report;
namespace {

ResultLayer layer(const std::string& name, std::uint64_t cycles, std::uint64_t bytes) {
  ResultLayer made;
  made.name = name;
  made.cycles = cycles;
  made.macs = 64;
  made.utilization = 0.5;
  made.dram_read_bytes = bytes;
  made.dram_write_bytes = 1;
  return made;
}

NetworkResult network(std::uint64_t first_cycles) {
  NetworkResult made;
  made.model = "net";
  made.config = "pe4x4";
  made.dataflow = "ws";
  made.layers = {layer("conv1", first_cycles, 10), layer("odd name", 200, 20)};
  made.total = layer("total", first_cycles + 200, 30);
  return made;
}

ResultsFile run_file(std::uint64_t first_cycles) {
  return {"base.json", true, {network(first_cycles)}};
}

// "" where the condition is false of a network of 100 + 200 cycles; the base has 90 + 200.
std::string violation(const std::string& text) {
  return Condition(text).violation(network(100), {run_file(90)});
}

TEST(Condition, ComparesWithTheOperatorsOfArithmetic) {
  for (const char* text : {"cycles > 299",
                           "cycles >= 300",
                           "cycles < 301",
                           "cycles <= 300",
                           "cycles == 300",
                           "cycles != 299",
                           "cycles == 100 + 2 * 100",
                           "cycles == (100 + 50) * 2",
                           "cycles / 3 == 100",
                           "cycles - 1 - 1 == 298",
                           "-cycles == -300",
                           "300<=cycles",
                           "cycles > 2.99e2",
                           "utilization == .5",
                           "macs == 64",
                           "dram_bytes == 31",
                           "dram_read_bytes == 30",
                           "dram_write_bytes == 1",
                           "limiter_busy == 0",
                           "cycles==600/2/1",
                           "\n  cycles\t>\r\n299\n",
                           " ( cycles>=300 ) "}) {
    EXPECT_NE(violation(text), "") << text;
    EXPECT_EQ(violation("!(" + std::string(text) + ")"), "") << text;
  }
}

TEST(Condition, JoinsConditions) {
  EXPECT_NE(violation("cycles > 1 && macs == 64"), "");
  EXPECT_EQ(violation("cycles > 1 && macs == 65"), "");
  EXPECT_NE(violation("cycles > 1000 || macs == 64"), "");
  EXPECT_NE(violation("macs == 64 || macs == 1 && cycles > 1000"), "");  // && first
  EXPECT_EQ(violation("(macs == 64 || macs == 1) && cycles > 1000"), "");
  EXPECT_NE(violation("!(cycles > 1000) && ((cycles > 1))"), "");
}

TEST(Condition, NamesALayerOrAnyOrAll) {
  EXPECT_NE(violation("conv1.cycles == 100"), "");
  EXPECT_NE(violation("\"odd name\".cycles == 200"), "");
  EXPECT_NE(violation("any(cycles == 200)"), "");
  EXPECT_EQ(violation("all(cycles == 200)"), "");
  EXPECT_NE(violation("all(cycles >= 100 && cycles <= 200)"), "");
  EXPECT_EQ(violation("any(cycles == 300)"), "");  // the total is not a layer
}

TEST(Condition, AFileHasTheFieldOfItsComparison) {
  EXPECT_NE(violation("cycles > 1.01 * base.json"), "");  // 300 > 292.9
  EXPECT_EQ(violation("cycles > 1.04*base.json"), "");    // 301.6
  EXPECT_NE(violation("conv1.cycles == base.json + 10"), "");
  EXPECT_NE(violation("any(cycles > base.json)"), "");  // conv1 alone
  EXPECT_EQ(violation("all(cycles > base.json)"), "");
  EXPECT_NE(violation("cycles == base.json:cycles + 10"), "");
  EXPECT_NE(violation("cycles > base.json:conv1.cycles"), "");
  EXPECT_NE(violation("cycles > \"base.json\":\"odd name\".cycles"), "");
  EXPECT_NE(violation("cycles == \"base.json\" + 10"), "");
}

TEST(Condition, SaysWhatItsSidesAre) {
  EXPECT_EQ(violation("cycles>1.01*base.json"),
            "cycles = 300, compared with 1.01*base.json = 292.9");
  EXPECT_EQ(violation("any(cycles > 150)"), "in odd name cycles = 200, compared with 150");
}

TEST(Condition, OfAProfileTheSamePointCounts) {
  ResultsFile profile{"base.json", false, {network(1000), network(90)}};
  profile.results[0].dataflow = "os";
  const Condition condition("cycles > base.json");
  EXPECT_NE(condition.violation(network(100), {profile}), "");
  NetworkResult other = network(100);
  other.dataflow = "os";
  EXPECT_EQ(condition.violation(other, {profile}), "");
  other.dataflow = "is";
  try {
    condition.violation(other, {profile});
    FAIL() << "no result of is";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_STREQ(error.what(),
                 "--fail-if 'cycles > base.json': base.json has no result of net on "
                 "pe4x4, is; it has 'net on pe4x4, os' and 'net on pe4x4, ws'");
  }
}

TEST(Condition, OfAProfileEachPartOfThePointCounts) {
  const auto message = [](const NetworkResult& point, const std::string& text) {
    NetworkResult base = network(90);
    base.set = {{"bus_bytes", 8}};
    try {
      Condition(text).violation(point, {{"base.json", false, {base}}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  NetworkResult point = network(100);
  point.set = {{"bus_bytes", 8}};
  EXPECT_EQ(message(point, "cycles > base.json"), "");
  for (const int part : {0, 1, 2, 3}) {
    NetworkResult other = point;
    if (part == 0) other.model = "web";
    if (part == 1) other.config = "pe8x8";
    if (part == 2) other.set[0].second = 16;
    if (part == 3) other.dataflow = "auto";
    EXPECT_EQ(message(other, "cycles > base.json"),
              "--fail-if 'cycles > base.json': base.json has no result of " + full_label(other) +
                  "; it has 'net on pe4x4, bus_bytes 8, ws'");
  }
}

TEST(Condition, APointThatDidNotRunIsNoBase) {
  NetworkResult refused = network(90);
  refused.error = "does not fit";
  try {
    Condition("cycles > base.json").violation(network(100), {{"base.json", false, {refused}}});
    FAIL() << "the base has no cycles";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--fail-if 'cycles > base.json': base.json has no values of net on pe4x4, ws, "
                 "which did not run there");
  }
}

void expect_refused(const std::string& text, const std::string& message) {
  try {
    const Condition condition(text);
    ADD_FAILURE() << text << " is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(error.what(), "--fail-if '" + text + "': column " + message);
  }
}

const std::string kFields =
    "cycles, macs, utilization, dram_read_bytes, dram_write_bytes, dram_bytes, limiter_busy, "
    "energy, energy_delay, tops_per_watt, area_mm2, pes, simulated_seconds";

TEST(Condition, KnowsWhetherItIsAboutTheEnergyOfTheResult) {
  for (const char* text : {"energy > 1 uJ", "cycles > 1 || !(all(2 * energy_delay < 3 J x cycle))",
                           "energy > base.json", "conv1.energy > 1 pJ"}) {
    EXPECT_TRUE(Condition(text).uses_energy()) << text;
  }
  EXPECT_TRUE(Condition("tops_per_watt > 1").uses_energy());
  EXPECT_TRUE(Condition("area_mm2 > 1").uses_energy());
  EXPECT_FALSE(Condition("cycles > base.json:energy").uses_energy());
  EXPECT_FALSE(Condition("pes > 1 || simulated_seconds > 1").uses_energy());
}

TEST(Condition, NamesWhatTheWholeNetworkHas) {
  NetworkResult result = network(100);
  result.pes = 16;
  result.simulated_seconds = 0.25;
  result.tops_per_watt = 0.5;
  result.area_mm2 = 1.25;
  NetworkResult base = result;
  base.area_mm2 = 1;
  for (const char* text : {"pes == 16", "simulated_seconds == 0.25", "tops_per_watt < 1",
                           "area_mm2 > 1.2 * base.json", "area_mm2 / pes < 0.1"}) {
    EXPECT_NE(Condition(text).violation(result, {{"base.json", true, {base}}}), "") << text;
  }
  const std::string end = "this is of the whole network; a layer, any and all have no such field";
  expect_refused("conv1.pes > 1", "7: found 'pes > 1'; " + end);
  expect_refused("any(area_mm2 > 1)", "5: found 'area_mm2 > 1'; " + end);
  expect_refused("tops_per_wat > 1",
                 "1: found 'tops_per_wat'; did you mean 'tops_per_watt'? Fields: " + kFields);
  expect_refused("tops_per_watts_of_all > 1",
                 "1: found 'tops_per_watts_of_all'; expected a number, a field, LAYER.FIELD, "
                 "\"ODD NAME\".FIELD or FILE.json; fields: " +
                     kFields);
}

// 8,000 uJ, as the tables show it: 8e9 pJ.
NetworkResult with_energy(const std::string& unit) {
  NetworkResult result = network(100);
  result.energy_table = "mine";
  result.energy_unit = unit;
  result.total.energy = 8e9;
  return result;
}

std::string violation_of(const NetworkResult& result, const std::string& text) {
  return Condition(text).violation(result, {{"base.json", true, {result}}});
}

TEST(Condition, ComparesEnergiesInTheUnitThatItNames) {
  const NetworkResult result = with_energy("pJ");
  EXPECT_EQ(violation_of(result, "energy > 7999.5 uJ"),
            "energy = 8000 uJ, compared with 7999.5 uJ");
  EXPECT_EQ(violation_of(result, "energy_delay >= 2.4 uJ x Mcycle"),
            "energy_delay = 2.4 uJ x Mcycle, compared with 2.4 uJ x Mcycle");
  for (const char* text :
       {"energy == 8000 uJ", "energy == 8e9pJ", "8 mJ == energy", "energy == .008J",
        "energy == 8e6 nJ", "energy == 8000 million", "energy / cycles > 26 uJ", "energy > 0",
        "-energy == -8 mJ", "energy == base.json + 0 pJ", "energy - 1 mJ == 7 mJ",
        "energy_delay == 2400000 uJ x cycle", "energy == 1.0 * base.json", "2 * (4 mJ) == energy",
        "energy / base.json:energy == 1", "energy / (1 uJ) == 8000"}) {
    EXPECT_NE(violation_of(result, text), "") << text;
  }
  for (const char* text : {"energy > 8000 uJ", "energy < 8 mJ", "energy_delay > 2.5 uJ x Mcycle"}) {
    EXPECT_EQ(violation_of(result, text), "") << text;
  }
}

TEST(Condition, RefusesANumberWithoutTheUnitOfWhatItIsComparedWith) {
  const std::string energies =
      "expected a unit after it, because the tables show uJ: 8000 uJ, or pJ, nJ, mJ, J; of an "
      "energy table in another unit 8000 million";
  expect_refused("energy > 8000", "10: found '8000'; " + energies);
  expect_refused("any(energy > 8000 && cycles > 1)", "14: found '8000 && cycl'; " + energies);
  expect_refused("8000 < energy", "1: found '8000 < energ'; " + energies);
  expect_refused("energy > 1.01 * base.json + 5", "29: found '5'; " + energies);
  expect_refused("energy / cycles > 3", "19: found '3'; " + energies);
  expect_refused("cycles > base.json:energy - 2", "29: found '2'; " + energies);
  expect_refused("energy_delay > 8000",
                 "16: found '8000'; expected a unit after it, because the tables show uJ: 8000 uJ "
                 "x Mcycle, or pJ, nJ, mJ, J; of an energy table in another unit 8000 million x "
                 "Mcycle");
  const std::string other = "its unit is not that of what it is added to or compared with";
  expect_refused("energy_delay > 8000 uJ", "16: found '8000 uJ'; " + other);
  expect_refused("energy > 8000 uJ x Mcycle", "10: found '8000 uJ x Mc'; " + other);
  expect_refused("cycles > 8000 uJ", "10: found '8000 uJ'; " + other);
  expect_refused("cycles > base.json + 1%", "22: found '1%'; " + other);
  expect_refused("energy > 1 uJ x second", "17: found 'second'; expected cycle or Mcycle");
}

TEST(Condition, TakesSharesInPercentOrUpTo1) {
  for (const char* text : {"utilization == 50%", "utilization < 51 %", "utilization > .49",
                           "utilization * 100 == 50", "cycles > 101% * base.json"}) {
    EXPECT_NE(violation(text), "") << text;
  }
  EXPECT_EQ(violation("utilization < 50%"), "");
  const std::string end = "a share is at most 1; in percent it needs a %: 80%";
  expect_refused("utilization < 80", "15: found '80'; " + end);
  expect_refused("any(limiter_busy > 1.5)", "20: found '1.5)'; " + end);
}

TEST(Condition, RefusesJoulesForEnergiesInAnotherUnit) {
  const NetworkResult result = with_energy("MAC of 16 bits");
  EXPECT_EQ(violation_of(result, "energy == 8000 million"),
            "energy = 8000 million, compared with 8000 million");
  EXPECT_EQ(violation_of(result, "energy > base.json"), "");
  try {
    violation_of(result, "energy > 8000 uJ");
    FAIL() << "it is compared";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_STREQ(error.what(),
                 "--fail-if 'energy > 8000 uJ': the energies are in MAC of 16 bits; give numbers "
                 "in millions of it: 8000 million");
  }
}

TEST(Condition, SaysWhatAResultLacksAndHowToGetIt) {
  const auto message = [](const std::string& text) {
    try {
      return Condition(text).violation(network(100), {run_file(90)});
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto expected = [](const std::string& text, const std::string& words) {
    return "--fail-if '" + text + "': net on pe4x4, ws has no " + words;
  };
  EXPECT_EQ(message("energy > 1 pJ"), expected("energy > 1 pJ", "energy; give --energy"));
  EXPECT_EQ(message("tops_per_watt > 1"),
            expected("tops_per_watt > 1", "tops_per_watt; give --energy with a table in pJ"));
  EXPECT_EQ(message("area_mm2 > 1"),
            expected("area_mm2 > 1", "area_mm2; give --energy with a table that has areas"));
  EXPECT_EQ(message("simulated_seconds > 1"),
            expected("simulated_seconds > 1", "simulated_seconds; make the file again"));
}

TEST(Condition, ListsItsFilesOnce) {
  const Condition condition("cycles > ./a-b.json && (macs > 2*\"c d.json\" || macs < ./a-b.json)");
  EXPECT_EQ(condition.files(), (std::vector<std::string>{"./a-b.json", "c d.json"}));
}

TEST(Condition, RefusesWhatIsNoConditionWithTheColumn) {
  expect_refused("cycles", "7: found the end; expected one of < <= > >= == != and another number");
  expect_refused("cycles >",
                 "9: found the end; expected a number, a field, LAYER.FIELD, \"ODD NAME\".FIELD or "
                 "FILE.json; fields: " +
                     kFields);
  expect_refused("cycels > 1", "1: found 'cycels > 1'; did you mean 'cycles'? Fields: " + kFields);
  expect_refused("cycles > 1 2", "12: found '2'; expected the end, or && or ||");
  expect_refused("(cycles > 1", "12: found the end; expected )");
  expect_refused(
      "cycles > 3x",
      "11: found 'x'; expected a unit after the number: %, pJ, nJ, uJ, mJ, J or million");
  expect_refused("dram_bytes>..", "12: found '..'; expected a number");
  expect_refused("cycles > 67,799", "10: found '67,799'; a number has no commas");
  expect_refused("cycles => 300",
                 "8: found '=> 300'; expected one of < <= > >= == != and another number");
  expect_refused("cycles > base.json.cycles",
                 "19: found '.cycles'; a field of a file comes after a colon: FILE:cycles");
  expect_refused("conv1.cycels > 1",
                 "7: found 'cycels > 1'; did you mean 'cycles'? Fields: " + kFields);
  expect_refused("conv1-relu.cycles > 1",
                 "1: found 'conv1-relu.c'; expected a number, a field, LAYER.FIELD, "
                 "\"ODD NAME\".FIELD or FILE.json; fields: " +
                     kFields);
  expect_refused("cycles > 1e999", "10: found '1e999'; expected a number below 1e308");
  expect_refused("any(all(cycles > 1))",
                 "5: found 'all(cycles >'; any and all cannot be inside one another");
  expect_refused("any(conv1.cycles > 1)",
                 "5: found 'conv1.cycles'; inside any and all, fields are those of each layer");
  expect_refused("cycles > \"conv1", "10: found '\"conv1'; expected a name and a second quote");
  expect_refused("cycles > \"conv1\"",
                 "17: found the end; expected .FIELD after the name of a "
                 "layer; a file's name ends in .json");
  expect_refused("1 > base.json",
                 "5: found 'base.json'; the comparison names 0 fields, so say "
                 "which one of the file: \"base.json\":cycles");
  expect_refused("cycles > macs * base.json",
                 "17: found 'base.json'; the comparison names 2 fields, so say which one of the "
                 "file: \"base.json\":cycles");
  expect_refused("base.json:\"conv1\" > 1",
                 "19: found '> 1'; expected .FIELD after the name of a layer");
}

TEST(Condition, RefusesWhatWouldTakeTooLong) {
  EXPECT_THROW(Condition(std::string(4001, '1')), Error);
  EXPECT_THROW(Condition(std::string(200, '(') + "1" + std::string(200, ')') + "> 2"), Error);
  EXPECT_THROW(Condition(std::string(200, '!') + "(cycles > 2)"), Error);
  EXPECT_THROW(Condition(std::string(200, '-') + "1 > 2"), Error);
}

void expect_no_value(const std::string& text, const std::string& message) {
  try {
    violation(text);
    ADD_FAILURE() << text << " has a value";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(error.what(), "--fail-if '" + text + "': " + message);
  }
}

TEST(Condition, RefusesValuesThatAreNotThere) {
  expect_no_value("conv9.cycles > 1",
                  "net on pe4x4, ws has no layer 'conv9'; it has 'conv1' and 'odd name'");
  expect_no_value("energy > 1 pJ", "net on pe4x4, ws has no energy; give --energy");
  expect_no_value("energy_delay > base.json:cycles",
                  "net on pe4x4, ws has no energy; give --energy");
  expect_no_value("cycles / (macs - 64) > 1", "column 1 divides by 0");
  expect_no_value("cycles > base.json:conv9.cycles",
                  "base.json has no layer 'conv9'; it has 'conv1' and 'odd name'");
}

TEST(Condition, EveryResultThatViolatesIsNamed) {
  NetworkResult refused = network(1);
  refused.error = "does not fit";
  NetworkResult other = network(500);
  other.dataflow = "os";
  try {
    require_conditions({Condition("cycles > 299")}, {network(100), refused, other}, {});
    FAIL() << "two are over the limit, one does not run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kRequirementMissed);
    EXPECT_STREQ(error.what(),
                 "--fail-if 'cycles > 299' is true for net on pe4x4, ws: cycles = "
                 "300, compared with 299");
    EXPECT_EQ(error.details(),
              "--fail-if 'cycles > 299' has no value for net on pe4x4, ws, which does not run\n"
              "--fail-if 'cycles > 299' is true for net on pe4x4, os: cycles = "
              "700, compared with 299");
  }
  EXPECT_NO_THROW(require_conditions({Condition("cycles > 700")}, {network(100), other}, {}));
}

TEST(Condition, EveryConditionThatIsTrueIsNamed) {
  try {
    require_conditions({Condition("cycles > 299"), Condition("macs > 64"), Condition("macs > 63")},
                       {network(100)}, {});
    FAIL() << "two are true";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kRequirementMissed);
    EXPECT_STREQ(error.what(),
                 "--fail-if 'cycles > 299' is true for net on pe4x4, ws: cycles = 300, compared "
                 "with 299");
    EXPECT_EQ(error.details(),
              "--fail-if 'macs > 63' is true for net on pe4x4, ws: macs = 64, compared with 63");
  }
}

}  // namespace
}  // namespace qsim
