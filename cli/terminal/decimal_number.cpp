#include "cli/terminal/decimal_number.h"

#include <charconv>
#include <string>

namespace qsim::cli {

std::optional<std::uint64_t> decimal_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> decimal_fraction(std::string_view text, int exponent) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? "0" : text.substr(point + 1);
  for (const std::string_view digits : {whole, part}) {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  const std::string number = std::string(text) + "e" + std::to_string(exponent);
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || stop != number.data() + number.size()) return std::nullopt;
  return value;
}

}  // namespace qsim::cli
