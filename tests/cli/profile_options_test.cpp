// `qsim profile`: options that it refuses, and lists of values.
#include <gtest/gtest.h>

#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

constexpr const char* kGivenByPath =
    "name: small\nseed: 11\ninput: {shape: [1, 12, 10, 20], dtype: int8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 40, kernel: 3, pad: 1}\n";

TEST(ProfileOptions, OptionsThatMakeNoSenseAreRefused) {
  const TestFolder folder;
  folder.write("n.yaml", kGivenByPath);
  const std::string begin = "profile --model n.yaml ";
  const std::string fields =
      "Fields: array_rows, array_cols, act_scratchpad_kib, weight_scratchpad_kib, "
      "accumulator_kib, output_scratchpad_kib, act_slots, weight_slots, requantizer, bus_bytes, "
      "dram_latency_cycles, burst_beats, outstanding_bursts, clock_mhz";
  expect_error(folder, begin + "--set array_row=8", 2,
               "--set 'array_row=8': no field 'array_row'; did you mean 'array_rows'? " + fields);
  expect_error(folder, begin + "--set model=8", 2, "--set 'model=8': no field 'model'. " + fields);
  expect_error(folder, begin + "--set array_rows", 2,
               "--set 'array_rows': expected FIELD=VALUE or FIELD=VALUE,VALUE,...");
  expect_error(folder, begin + "--set array_rows=8,x", 2,
               "--set 'array_rows=8,x': found 'x'; allowed: whole numbers in decimal digits, with "
               "commas between them");
  expect_error(folder, begin + "--set array_rows=8,", 2, "found ''; allowed: whole numbers");
  expect_error(folder, begin + "--set requantizer=shift,multiply", 2,
               "--set 'requantizer=shift,multiply': found 'multiply'; allowed: shift, dyadic");
  expect_error(folder, begin + "--set array_rows=8,8", 2,
               "--set 'array_rows=8,8': has 8 twice; name each value once");
  expect_error(folder, begin + "--set array_rows=8 --set array_rows=16", 2,
               "--set 'array_rows=16': the field is set twice; give one list of values");
  expect_error(folder, begin + "--dataflow ws,xs", 2, "--dataflow: found 'xs'; allowed: all, ");
  expect_error(folder, begin + "--jobs 0", 2, "--jobs: found '0'; allowed: 1 to 1024");
  expect_error(folder, begin + "--csv-columns scalesim", 2,
               "--csv-columns: found 'scalesim'; allowed: qsim, scalesim-compute");
  expect_error(folder, begin + "--csv-columns qsim", 2, "--csv-columns needs --csv");
  expect_error(folder, begin + "--csv - --json -", 2,
               "--json - and --csv - cannot both write to stdout; give one of them a file");
  expect_error(folder, begin + "--csv a --json a", 2, "--json and --csv would both write 'a'");
  expect_error(folder, begin + "--csv n.yaml", 2, "--csv would overwrite");
  expect_error(folder, begin + "--csv no/p.csv", 3, "no/p.csv");
  expect_error(folder, begin + "--resume -", 2,
               "--resume: expected a file; - is not stdout here, and a file of that name is ./-");
  EXPECT_FALSE(std::filesystem::exists(folder / "-"));
  expect_error(folder, begin + "--config no", 3, "no");
  expect_error(folder, begin + "--energy no", 3, "no");
  expect_error(folder, begin + "--batch 0", 2, "--batch: found '0'");
  expect_error(folder, "profile --model no", 3, "no");
  std::string values = "1";
  for (int i = 2; i <= 400; ++i) values += "," + std::to_string(i);
  expect_error(folder,
               begin + "--set dram_latency_cycles=" + values + " --set burst_beats=" + values, 2,
               "these options make more than 100000 points; give fewer values");
}

TEST(ProfileOptions, ThoseOfTheSearchAreCheckedAsOfARun) {
  const TestFolder folder;
  folder.write("n.yaml", kGivenByPath);
  const std::string begin = "profile --model n.yaml ";
  expect_error(folder, begin + "--dataflow auto,both", 2,
               "--dataflow: found 'both'; allowed: all, ws, os, is, auto, weight_stationary");
  expect_error(folder, begin + "--objective time", 2,
               "--objective: found 'time'; allowed: cycles, dram_bytes, energy, energy_delay");
  expect_error(folder, begin + "--objective energy_delay", 2,
               "--objective energy_delay needs a table of energies; add --energy horowitz-45nm");
  expect_error(folder, begin + "--objective dram_bytes --slack 1", 2,
               "--slack belongs to --objective cycles; leave it out");
  expect_error(folder, begin + "--slack -1", 2, "--slack: found '-1'; allowed: 0 to 100");
  expect_error(folder, begin + "--mapping-search slow", 2,
               "--mapping-search: found 'slow'; allowed: fast, full");
  expect_error(folder, begin + "--mapping-budget 0", 2,
               "--mapping-budget: found '0'; allowed: 0.001 to 1000000");
}

TEST(ProfileOptions, AListWithAnEmptyValueIsRefused) {
  const TestFolder folder;
  const std::string expected = "; expected values with one comma between them";
  expect_error(folder, "profile --model vgg8,,vgg16", 2,
               "--model: found an empty value in 'vgg8,,vgg16'" + expected);
  expect_error(folder, "profile --config ,pe4x4", 2,
               "--config: found an empty value in ',pe4x4'" + expected);
  expect_error(folder, "profile --dataflow ws,", 2,
               "--dataflow: found an empty value in 'ws,'" + expected);
  expect_error(folder, "verify --engines systemc,,rtl", 2,
               "--engines: found an empty value in 'systemc,,rtl'" + expected);
  expect_error(folder, "profile --model vgg8 --model ''", 2,
               "--model: the value is empty; give one, or leave the option out");
}

TEST(ProfileOptions, ADataflowThatIsNamedTwiceIsRefusedAlsoByAnotherName) {
  const TestFolder folder;
  const std::string end = "' twice; name each one once; all is ws, os, is and auto";
  for (const auto& [list, name] :
       {std::pair{"ws,os,ws", "ws"}, std::pair{"all,os", "os"}, std::pair{"auto,all", "auto"},
        std::pair{"ws,weight_stationary", "ws"}, std::pair{"all,all", "ws"},
        std::pair{"is --dataflow input_stationary", "is"}}) {
    expect_error(folder, "profile --model vgg8 --dataflow " + std::string(list), 2,
                 "--dataflow: names '" + std::string(name) + end);
  }
}

TEST(ProfileOptions, AModelOrConfigurationThatIsNamedTwiceIsRefused) {
  const TestFolder folder;
  expect_error(folder, "profile --model vgg8 --model vgg16,vgg8", 2,
               "--model: names 'vgg8' twice; name each one once");
  expect_error(folder, "profile --config pe4x4,pe8x8,pe4x4", 2,
               "--config: names 'pe4x4' twice; name each one once");
}

}  // namespace
}  // namespace qsim
