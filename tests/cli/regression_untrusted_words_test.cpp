// Found by hostile files, on the executable: a crash on a .npy without dimensions, words of a file
// that split a line or reached the terminal as they were, and vectors left without a manifest.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/traces/npy.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kUntrusted =
    "input: {shape: [1, 5, 5, 4]}\nlayers:\n  - {op: conv2d, name: \"NAME\", out_channels: 4, "
    "kernel: 3}\n";

std::string network(const std::string& name) {
  std::string text = kUntrusted;
  return text.replace(text.find("NAME"), 4, name);
}

// Nothing but lines that a terminal shows.
void expect_plain(const std::string& text) {
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{static_cast<unsigned char>(c)};
  }
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(RegressionUntrustedWords, AnInputWithoutDimensionsIsRefusedByEveryCommand) {
  const TestFolder folder;
  folder.write("net.yaml", network("conv"));
  Tensor scalar(DType::kInt8, {});
  folder.write("scalar.npy", npy_bytes(scalar));
  const std::string options = " --config pe4x4 --model net.yaml --input scalar.npy";
  for (const std::string command : {"run", "verify", "export-vectors --out v", "golden run"}) {
    expect_error(folder, command + options, 3, "scalar.npy: shape []; the model takes [");
  }
}

TEST(RegressionUntrustedWords, AnErrorIsOneLineAndKeepsItsRemedy) {
  const TestFolder folder;
  folder.write("c.yaml", "\"a\\0b\\nqsim: all is well\\x1b[2J\": 1\n");
  const Outcome outcome = run_qsim(folder, "run --config c.yaml");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(lines(outcome.err), 1u) << outcome.err;
  expect_plain(outcome.err);
  EXPECT_NE(
      outcome.err.find("unknown key 'a\\x00b\\x0aqsim: all is well\\x1b[2J'. Allowed: name, "),
      std::string::npos)
      << outcome.err;
}

TEST(RegressionUntrustedWords, AReportsLinesAreItsOwn) {
  const TestFolder folder;
  folder.write("net.yaml", network("x\\nverify: golden cpu\\x1b[2J\\u202e\\u009b"));
  const Outcome plain = run_qsim(folder, "run --config pe4x4 --model net.yaml");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  expect_plain(plain.out);
  folder.write("net.yaml", network("x"));
  EXPECT_EQ(lines(plain.out), lines(run_qsim(folder, "run --config pe4x4 --model net.yaml").out));
}

TEST(RegressionUntrustedWords, JsonIsAsciiAndHoldsTheNameExactly) {
  const TestFolder folder;
  folder.write("net.yaml", network("x\\n\\x1b\\u202e\\u009b\\x7f\xc3\xa9"));
  const Outcome outcome = run_qsim(folder, "run --config pe4x4 --model net.yaml --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_plain(outcome.out);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["layers"][0]["name"], "x\n\x1b\xe2\x80\xae\xc2\x9b\x7f\xc3\xa9");
}

TEST(RegressionUntrustedWords, VectorsHaveTheirManifestWhateverThePathsBytesAre) {
  const TestFolder folder;
  folder.write("n\xff.yaml", network("conv"));
  const Outcome outcome =
      run_qsim(folder, "export-vectors --config pe4x4 --model n\xff.yaml --out vectors");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(read_file(folder / "vectors/manifest.json"));
  EXPECT_NE(json["provenance"]["model"].get<std::string>().find("n\xef\xbf\xbd"),
            std::string::npos);
}

}  // namespace
}  // namespace qsim
