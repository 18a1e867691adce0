// Configuration files, among them the shipped ones.
#include "formats/settings/arch_config_file.h"

#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

struct Shipped {
  const char* name;
  std::int64_t rows, cols, act, weight, accumulator, output, bus;
};

TEST(ArchConfigFile, ShippedConfigsAreThoseOfTheDesign) {
  for (const Shipped& row : {Shipped{"pe4x4", 4, 4, 64, 32, 16, 4, 4},
                             {"pe8x8", 8, 8, 128, 64, 32, 8, 8},
                             {"pe16x16", 16, 16, 256, 64, 64, 16, 16},
                             {"pe16x32", 16, 32, 256, 128, 128, 32, 32},
                             {"pe32x32", 32, 32, 512, 256, 256, 64, 32},
                             {"tpu128x128", 128, 128, 4096, 2048, 2048, 512, 128}}) {
    ArchConfig expected;
    expected.name = row.name;
    expected.array_rows = row.rows;
    expected.array_cols = row.cols;
    expected.act_scratchpad_kib = row.act;
    expected.weight_scratchpad_kib = row.weight;
    expected.accumulator_kib = row.accumulator;
    expected.output_scratchpad_kib = row.output;
    expected.bus_bytes = row.bus;
    EXPECT_EQ(load_arch_config("configs/" + std::string(row.name) + ".yaml"), expected) << row.name;
  }
}

TEST(ArchConfigFile, TheShippedDyadicConfigDiffersInTheRequantizerAlone) {
  ArchConfig expected = load_arch_config("configs/pe16x16.yaml");
  expected.name = "pe16x16_dyadic";
  expected.requantizer = RequantizerKind::kDyadic;
  EXPECT_EQ(load_arch_config("configs/pe16x16_dyadic.yaml"), expected);
}

TEST(ArchConfigFile, EveryFieldRoundTrips) {
  const TemporaryFolder folder;
  ArchConfig config;
  config.name = "a \"strange\" name";
  std::int64_t next = 0;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number == nullptr || field.power_of_two) continue;
    config.*field.number = field.min + ++next;
  }
  config.array_rows = 32;
  config.array_cols = 8;
  config.requantizer = RequantizerKind::kDyadic;
  config.model = "m";
  config.input = "i";
  config.host = HostConfig{0.125, 1000000, true};
  EXPECT_EQ(load_arch_config(folder.file("x.yaml", arch_config_yaml(config))), config);
}

TEST(ArchConfigFile, NameIsTheFilesStemByDefault) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_arch_config(folder.file("mine.yaml", "array_rows: 8\n")).name, "mine");
}

TEST(ArchConfigFile, MistakesSayWhereAndWhatIsAllowed) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return error_of([&] { load_arch_config(folder.file("c.yaml", text)); });
  };
  expect_contains(message("array_row: 8\n"),
                  "c.yaml:1:1: unknown key 'array_row'; did you mean 'array_rows'?");
  expect_contains(
      message("# x\narray_rows: 512\n"),
      "c.yaml:2:13: array_rows: 512 is out of range; allowed: a power of two from 4 to 256");
  expect_contains(message("array_rows: 12\n"),
                  "c.yaml:1:13: array_rows: 12 is not allowed; allowed: a power of two");
  expect_contains(message("array_rows: 8\narray_rows: 8\n"), "c.yaml:2:1: duplicate key");
  expect_contains(message("array_rows: 8\nrequantizer: dyadik\n"),
                  "c.yaml:2:14: requantizer: found 'dyadik'; did you mean 'dyadic'? Allowed: ");
  expect_contains(message("model: ''\n"), "c.yaml:1:8: model: the text is empty");
  const auto host = [&](const std::string& fields) { return message("host: {" + fields + "}\n"); };
  expect_contains(host("ops_per_cycle: 1"), "bytes_per_cycle");
  expect_contains(host("ops_per_cycle: 1, bytes_per_cycle: 0"),
                  "found 0; expected a number from 0.001 to 1000000");
  expect_contains(host("ops_per_cycle: 1, bytes_per_cycle: 1, overlap: 1"), "true or false");
  expect_contains(host("ops_per_cycles: 1"), "did you mean 'ops_per_cycle'?");
  // A limit between two fields.
  expect_contains(message("weight_scratchpad_kib: 1\narray_cols: 64\n"), "c.yaml:1:1: ");
  expect_contains(message("weight_scratchpad_kib: 1\narray_cols: 64\n"), "weight scratchpad");
}

}  // namespace
}  // namespace qsim
