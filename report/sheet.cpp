#include "report/sheet.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "report/json_text.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json cell_json(const Cell& cell) {
  return std::visit([](const auto& value) { return Json(value); }, cell);
}

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// A column of numbers is aligned to the right.
bool is_number_column(const SheetTable& table, std::size_t column) {
  return !table.rows.empty() && std::all_of(table.rows.begin(), table.rows.end(), [&](auto& row) {
    return std::holds_alternative<std::int64_t>(row[column]) ||
           std::holds_alternative<double>(row[column]);
  });
}

// A single column is a list of sentences: whole, one a line.
std::string list_text(const SheetTable& table) {
  std::string text;
  for (const auto& row : table.rows) text += "  " + cell_text(row[0]) + "\n";
  return text;
}

std::string table_text(const SheetTable& table) {
  if (table.columns.size() == 1) return list_text(table);
  TextTable text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool number = is_number_column(table, c);
    // Names are in the first column; what is said of them is never cut.
    text.columns.push_back({words(table.columns[c]), number, c == 0 && !number});
  }
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(cell_text(cell));
    text.rows.push_back(std::move(cells));
  }
  return layout(text);
}

}  // namespace

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return message_line(*text);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return with_thousands(*number);
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  return share_text(std::get<double>(cell));
}

std::string sheet_text(const Sheet& sheet) {
  std::size_t width = 0;
  for (const auto& [name, value] : sheet.facts) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : sheet.facts) {
    if (cell_text(value).empty()) continue;
    text += words(name) + std::string(width - name.size() + 2, ' ') + cell_text(value) + "\n";
  }
  for (const SheetTable& table : sheet.tables) {
    if (table.rows.empty()) continue;
    text += (text.empty() ? "" : "\n") + words(table.name) + "\n" + table_text(table);
  }
  return text;
}

std::string sheet_json(const Sheet& sheet) {
  Json json = {{"schema", sheet.schema}};
  for (const auto& [name, value] : sheet.facts) json[name] = cell_json(value);
  for (const SheetTable& table : sheet.tables) {
    json[table.name] = Json::array();
    for (const auto& row : table.rows) {
      Json entry = Json::object();
      for (std::size_t c = 0; c < row.size(); ++c) entry[table.columns[c]] = cell_json(row[c]);
      json[table.name].push_back(std::move(entry));
    }
  }
  return json_text(json);
}

}  // namespace qsim::report
