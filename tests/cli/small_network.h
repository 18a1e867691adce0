// Small networks that tests of several commands run, and the JSON that a command prints.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"

namespace qsim {

// Two layers of the program, `first` with what follows it, and `wide`.
inline constexpr const char* kSmallNetwork = R"(name: small
seed: 11
input: {shape: [1, 12, 10, 20], dtype: int8}
layers:
  - {op: conv2d, name: first, out_channels: 40, kernel: 3, pad: 1}
  - {op: relu, name: positive}
  - {op: max_pool, name: pool, kernel: 2}
  - {op: conv2d, name: wide, out_channels: 70, kernel: 1}
)";

// What a command that succeeds, and says nothing on stderr, prints with --json -.
inline nlohmann::json quiet_json_of(const TestFolder& folder, const std::string& arguments) {
  const Outcome outcome = run_qsim(folder, arguments + " --json - --quiet");
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return nlohmann::json::parse(outcome.out);
}

// A folder with small.yaml: two convolutions, `first` and `second`, whose sizes are not multiples
// of the array's.
class TwoConvolutions : public ::testing::Test {
 protected:
  TwoConvolutions() {
    folder_.write("small.yaml", R"(name: small
seed: 4
input: {shape: [1, 12, 10, 5], dtype: uint8, zero_point: 9}
layers:
  - {op: conv2d, name: first, out_channels: 16, kernel: 3, pad: 1, relu: true}
  - {op: conv2d, name: second, out_channels: 23, kernel: 3, stride: 2}
)");
  }

  Outcome run(const std::string& arguments) {
    return run_qsim(folder_, arguments + " --config pe4x4 --model small.yaml");
  }

  TestFolder folder_;
};

}  // namespace qsim
