// Numbers on the command line: decimal digits alone, for every option alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace qsim {

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Declares an option that takes one such number of `range`, and gives it to `set`. Parsing throws
// CLI::ValidationError for any other value.
CLI::Option* add_number(CLI::App& app, const std::string& name, NumberRange range,
                        std::function<void(std::uint64_t)> set, const std::string& description);

}  // namespace qsim
