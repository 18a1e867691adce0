// A small report of named facts and tables, printed as text or as JSON: what every command but
// `run` says. The commands fill it; they never format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace qsim::report {

// A number keeps its type in JSON; in text a count gets thousands separators and a double is a
// share, shown in percent, and never as 0 where it is not (share_text).
using Cell = std::variant<std::string, std::int64_t, double, bool>;

struct SheetTable {
  std::string name;                  // the JSON key, and the heading
  std::vector<std::string> columns;  // JSON keys of each row, and the titles
  std::vector<std::vector<Cell>> rows;
};

struct Sheet {
  std::string schema;  // "qsim.doctor/1"
  std::vector<std::pair<std::string, Cell>> facts;
  std::vector<SheetTable> tables;

  void add(std::string name, Cell value) { facts.emplace_back(std::move(name), std::move(value)); }
};

std::string cell_text(const Cell& cell);
std::string sheet_text(const Sheet& sheet);
// {"schema": .., fact: value, .., table: [{column: value, ..}, ..]}
std::string sheet_json(const Sheet& sheet);

}  // namespace qsim::report
