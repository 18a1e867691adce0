#include "report/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/base/printable.h"

namespace qsim::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastTextWidth = 16;

bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Characters, for UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_a_character(c); }));
}

// Characters [first, first + count) of UTF-8.
std::string characters(const std::string& text, std::size_t first, std::size_t count) {
  std::string part;
  std::size_t at = 0;
  for (const char c : text) {
    if (!continues_a_character(c)) ++at;
    if (at > first && at <= first + count) part += c;
  }
  return part;
}

// Where a text that is too long is cut: what is left of it.
enum class CutAt : std::uint8_t { kEnd, kMiddle, kBegin };
constexpr CutAt kCuts[] = {CutAt::kEnd, CutAt::kMiddle, CutAt::kBegin};
constexpr std::string_view kCutMark = "..";

std::string cut(const std::string& text, std::size_t width, CutAt where) {
  const std::size_t whole = width_of(text);
  if (whole <= width) return text;
  const std::size_t left = width - kCutMark.size();
  const std::size_t begin = where == CutAt::kEnd ? left : where == CutAt::kMiddle ? left / 3 : 0;
  return characters(text, 0, begin) + std::string(kCutMark) +
         characters(text, whole - (left - begin), left - begin);
}

// How many different texts column `c` has when its texts are cut.
std::size_t different_texts(const TextTable& table, std::size_t c, std::size_t width, CutAt where) {
  std::set<std::string> texts;
  for (const auto& row : table.rows) texts.insert(cut(row[c], width, where));
  return texts.size();
}

// The first cut that leaves texts different that are; none where each makes two of them equal.
std::optional<CutAt> cut_of(const TextTable& table, std::size_t c, std::size_t width) {
  std::set<std::string> texts;
  for (const auto& row : table.rows) texts.insert(row[c]);
  for (const CutAt where : kCuts) {
    if (different_texts(table, c, width, where) == texts.size()) return where;
  }
  return std::nullopt;
}

std::vector<std::size_t> natural_widths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = width_of(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
  }
  return widths;
}

// Takes characters from the widest shrinkable column until the table fits; a table that cannot fit
// stays whole.
void shrink(const TextTable& table, std::vector<std::size_t>& widths) {
  const std::vector<std::size_t> natural = widths;
  const std::size_t gaps = kGap * (widths.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > kTableColumns) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::size_t least = std::max(kLeastTextWidth, width_of(table.columns[c].title));
      if (!table.columns[c].shrinkable || widths[c] <= least) continue;
      if (widest == widths.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == widths.size()) {
      widths = natural;
      return;
    }
    --widths[widest];
  }
}

// Cuts the texts of each column that is narrower than they are. A column whose texts would then be
// equal gets the width that it needs.
void cut_texts(TextTable& table, std::vector<std::size_t>& widths) {
  for (std::size_t c = 0; c < widths.size(); ++c) {
    std::optional<CutAt> where = cut_of(table, c, widths[c]);
    while (!where) where = cut_of(table, c, ++widths[c]);
    for (auto& row : table.rows) row[c] = cut(row[c], widths[c], *where);
  }
}

void append_row(std::string& text, const TextTable& table, const std::vector<std::size_t>& widths,
                const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    const std::string& cell = cells[c];
    const std::string fill(widths[c] - width_of(cell), ' ');
    if (c > 0) line += std::string(kGap, ' ');
    line += table.columns[c].right ? fill + cell : cell + fill;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char buffer[64];
  const int count = std::snprintf(buffer, sizeof buffer, pattern, values...);
  return {buffer, static_cast<std::size_t>(std::clamp(count, 0, 63))};
}

}  // namespace

std::string layout(const TextTable& table) {
  TextTable clean = table;
  for (auto& row : clean.rows) {
    row.resize(clean.columns.size());
    for (std::string& cell : row) cell = message_line(cell);
  }
  std::vector<std::size_t> widths = natural_widths(clean);
  shrink(clean, widths);
  cut_texts(clean, widths);
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    titles.push_back(clean.columns[c].title);
    rules.emplace_back(widths[c], '-');
  }
  std::string text;
  append_row(text, clean, widths, titles);
  append_row(text, clean, widths, rules);
  for (const auto& row : clean.rows) append_row(text, clean, widths, row);
  return text;
}

std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string with_thousands(std::int64_t number) {
  if (number >= 0) return with_thousands(static_cast<std::uint64_t>(number));
  return "-" + with_thousands(std::uint64_t{0} - static_cast<std::uint64_t>(number));
}

std::string megabytes(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes) / 1e6;
  return value < 999.9995 ? format("%.3f", value) : format("%.0f", value);
}

std::string percent(double share) {
  const double value = 100.0 * share;
  return format("%.1f%%", value < 0 && value > -0.05 ? 0.0 : value);
}

std::string share_text(double share) {
  constexpr int kMostDecimals = 24;   // of the smallest share of two 64-bit counts
  constexpr double kRounding = 1e-6;  // of the logarithm
  const double value = std::abs(100.0 * share);
  if (value == 0 || value >= 0.05) return percent(share);
  const int decimals = static_cast<int>(std::ceil(-std::log10(value) - kRounding));
  return format("%.*f%%", std::min(decimals, kMostDecimals), 100.0 * share);
}

std::string tenths_text(std::int64_t tenths) {
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "%";
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return format("%.1f us", seconds * 1e6);
  return seconds < 1 ? format("%.1f ms", seconds * 1e3) : format("%.2f s", seconds);
}

}  // namespace qsim::report
