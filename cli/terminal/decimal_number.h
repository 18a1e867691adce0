// Decimal numbers in the words of a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace qsim::cli {

// "16", and "016", which is 16 too. Absent for a sign, a blank, 0x10, 1e3, an empty text, and for
// more than 2^64 - 1.
std::optional<std::uint64_t> decimal_number(std::string_view text);

// "0.05", "3": times 10^exponent, the nearest double to it. Absent for a sign, a blank, 1e3, ".5",
// "5.", and an empty text.
std::optional<double> decimal_fraction(std::string_view text, int exponent);

}  // namespace qsim::cli
