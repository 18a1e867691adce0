// Numbers on the command line: decimal digits alone, for every option alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace qsim {

// "16", and "016", which is 16 too. Absent for a sign, a blank, 0x10, 1e3, an empty text, and for
// more than 2^64 - 1.
std::optional<std::uint64_t> decimal_number(std::string_view text);

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Declares an option that takes one such number of `range`, and gives it to `set`. Parsing throws
// CLI::ValidationError for any other value.
CLI::Option* add_number(CLI::App& app, const std::string& name, NumberRange range,
                        std::function<void(std::uint64_t)> set, const std::string& description);

}  // namespace qsim
