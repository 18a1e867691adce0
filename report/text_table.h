// Columns of text for people: numbers to the right with thousands separators, text to the left, no
// wider than 100 columns where cutting shrinkable text to 16 characters achieves that. Texts that
// differ still do when they are cut. No colour, ever, so NO_COLOR holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qsim::report {

inline constexpr std::size_t kTableColumns = 100;

struct TableColumn {
  std::string title;
  bool right = false;      // numbers
  bool shrinkable = true;  // text that may be cut ("..") when the table is too wide
};

struct TextTable {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

// Title line, a rule, the rows; each line ends with '\n' and has no trailing spaces. Characters
// below space are shown as '?', so that a name cannot break the layout.
std::string layout(const TextTable& table);

std::string with_thousands(std::uint64_t number);  // 1,234,567
std::string with_thousands(std::int64_t number);
std::string megabytes(std::uint64_t bytes);  // 1234567 -> "1.235"; from 1,000 MB on "1235"
std::string percent(double share);           // 0.9731 -> "97.3%"; never "-0.0%"
// As percent(), with as many decimal places as a share other than 0 needs: -0.0002 -> "-0.02%".
std::string share_text(double share);
std::string tenths_text(std::int64_t tenths);  // 973 -> "97.3%"
std::string seconds_text(double seconds);      // "12.3 ms"

}  // namespace qsim::report
