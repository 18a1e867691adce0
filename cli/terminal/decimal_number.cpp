#include "cli/terminal/decimal_number.h"

#include <charconv>

namespace qsim {

std::optional<std::uint64_t> decimal_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace qsim
