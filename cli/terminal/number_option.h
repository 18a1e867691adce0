// Numbers on the command line: decimal digits alone, for every option alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace qsim {

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

inline constexpr std::uint64_t kMostThreads = 1024;  // each has memory of its own

// Declares an option that takes one such number of `range`, and gives it to `set`. Parsing throws
// CLI::ValidationError for any other value.
CLI::Option* add_number(CLI::App& app, const std::string& name, NumberRange range,
                        std::function<void(std::uint64_t)> set, const std::string& description);

// The same into a variable: what it has is the default.
CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range,
                       std::int64_t& number, const std::string& description);
CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range, int& number,
                       const std::string& description);
// Without a default.
CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range,
                       std::optional<std::int64_t>& number, const std::string& description);

// From `least` to `most` as written; the value is that times 10^exponent, the nearest double to it.
struct DecimalRange {
  double least = 0;
  double most = 0;
  int exponent = 0;
};

// Likewise for decimal digits with or without a point (decimal_fraction), and a range in them.
CLI::Option* add_decimal(CLI::App& app, const std::string& name, const DecimalRange& range,
                         std::optional<double>& value, const std::string& description);

// For a positive float32 number, with an exponent or without: what reports print of one (9 digits)
// gives the same number.
CLI::Option* add_float(CLI::App& app, const std::string& name, std::optional<float>& value,
                       const std::string& description);

}  // namespace qsim
