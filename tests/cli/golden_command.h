// What the tests of golden backends and of the `qsim golden` commands share.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"

namespace qsim {

using Json = nlohmann::json;

// A convolution and a fully connected layer with 7 outputs; the input is a seeded tensor.
inline constexpr const char* kSmall =
    "name: small\nseed: 11\ninput: {shape: [1, 6, 5, 3], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: flatten, name: flat}\n"
    "  - {op: fully_connected, name: last, out_features: 7}\n";

inline constexpr const char* kNoVariable = "env -u QSIM_GOLDEN";

// The JSON of `PREFIX qsim ARGUMENTS`, which must end with 0.
inline Json json_of(const TestFolder& folder, const std::string& arguments,
                    const std::string& prefix = kNoVariable) {
  const Outcome outcome = run_qsim(folder, arguments + " --json - --quiet", prefix);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  Json json = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.out;
  return json;
}

}  // namespace qsim
