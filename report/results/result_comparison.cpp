#include "report/results/result_comparison.h"

#include <algorithm>

#include "core/base/printable.h"
#include "report/energy_text.h"
#include "report/results/difference_words.h"
#include "report/results/result_index.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr std::size_t kMostLayers = 5;  // in words, of one pair; of several only the first

struct Pair {
  const NetworkResult* first = nullptr;
  const NetworkResult* second = nullptr;
};

std::vector<Pair> pairs_of(const ResultsFile& first, const ResultsFile& second) {
  if (first.results.size() == 1 && second.results.size() == 1) {
    return {{&first.results.front(), &second.results.front()}};
  }
  const PointIndex points(second.results);
  std::vector<Pair> pairs;
  for (const NetworkResult& result : first.results) {
    const NetworkResult* partner = points.find(result);
    if (partner != nullptr) pairs.push_back({&result, partner});
  }
  return pairs;
}

// Labels of the results of `file` that the other does not have.
SheetTable only_table(const std::string& name, const ResultsFile& file, const ResultsFile& other) {
  SheetTable table{name, {"result"}, {}};
  const PointIndex points(other.results);
  for (const NetworkResult& result : file.results) {
    if (points.find(result) == nullptr) table.rows.push_back({full_label(result)});
  }
  return table;
}

std::int64_t cell(std::uint64_t count) { return static_cast<std::int64_t>(count); }

// The change from the first to the second: 0.02 is 2% more.
double change(std::uint64_t before, std::uint64_t after) {
  if (before == after) return 0;
  if (before == 0) return 1;
  return static_cast<double>(after) / static_cast<double>(before) - 1;
}

std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

const std::vector<std::string> kColumns = {"cycles",     "cycles_after",     "change",
                                           "dram_bytes", "dram_bytes_after", "change_of_bytes",
                                           "limited_by", "limited_by_after"};

// Whether both have energies by one table.
bool compares_energy(const Pair& pair) {
  return !pair.first->energy_table.empty() &&
         pair.first->energy_table == pair.second->energy_table && pair.first->total.energy &&
         pair.second->total.energy;
}

// Energies are compared where all pairs have them.
bool compare_energy(const std::vector<Pair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return !pair.first->ran() || !pair.second->ran() || compares_energy(pair);
  });
}

std::vector<Cell> row_of(const std::string& name, const ResultLayer& a, const ResultLayer& b,
                         const std::string& energy_unit) {
  std::vector<Cell> row = {name,
                           cell(a.cycles),
                           cell(b.cycles),
                           change(a.cycles, b.cycles),
                           cell(a.dram_bytes()),
                           cell(b.dram_bytes()),
                           change(a.dram_bytes(), b.dram_bytes()),
                           spaced(a.limited_by),
                           spaced(b.limited_by)};
  if (!energy_unit.empty()) {
    row.emplace_back(energy_text(a.energy.value_or(0), energy_unit));
    row.emplace_back(energy_text(b.energy.value_or(0), energy_unit));
    row.emplace_back(a.energy.value_or(0) > 0 ? b.energy.value_or(0) / *a.energy - 1 : 0.0);
  }
  return row;
}

SheetTable table_of(const std::string& name, const std::string& first_column, bool has_energy) {
  SheetTable table{name, {first_column}, {}};
  table.columns.insert(table.columns.end(), kColumns.begin(), kColumns.end());
  if (has_energy) {
    table.columns.insert(table.columns.end(), {"energy", "energy_after", "change_of_energy"});
  }
  return table;
}

bool clocks_differ(const Pair& pair) {
  return pair.first->ran() && pair.second->ran() && clocks_differ(*pair.first, *pair.second);
}

void add_times(std::vector<Cell>& row, const Pair& pair) {
  const auto& [first, second] = pair;
  if (!first->simulated_seconds || !second->simulated_seconds) {
    row.insert(row.end(), {std::string(), std::string(), 0.0});
    return;
  }
  row.emplace_back(seconds_text(*first->simulated_seconds));
  row.emplace_back(seconds_text(*second->simulated_seconds));
  row.emplace_back(*second->simulated_seconds / *first->simulated_seconds - 1);
}

SheetTable totals_table(const std::vector<Pair>& pairs) {
  const bool has_energy = compare_energy(pairs);
  const bool has_times =
      std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return clocks_differ(pair); });
  SheetTable table = table_of("totals", "result", has_energy);
  if (has_times) {
    table.columns.insert(table.columns.end(), {"time", "time_after", "change_of_time"});
  }
  for (const Pair& pair : pairs) {
    if (!pair.first->ran() || !pair.second->ran()) continue;
    table.rows.push_back(row_of(full_label(*pair.first), pair.first->total, pair.second->total,
                                has_energy ? pair.first->energy_unit : ""));
    if (has_times) add_times(table.rows.back(), pair);
  }
  return table;
}

SheetTable layers_table(const Pair& pair) {
  const std::string unit = compares_energy(pair) ? pair.first->energy_unit : "";
  SheetTable table = table_of("layers", "layer", !unit.empty());
  const LayerIndex others(pair.second->layers);
  for (const ResultLayer& layer : pair.first->layers) {
    const ResultLayer* other = others.find(layer.name);
    if (other != nullptr) table.rows.push_back(row_of(layer.name, layer, *other, unit));
  }
  return table;
}

// "new.json takes 2.5% fewer cycles than old.json and moves 1.0% more bytes of DRAM."
std::string total_sentence(const Pair& pair, const PairNames& names) {
  const ResultLayer& a = pair.first->total;
  const ResultLayer& b = pair.second->total;
  const auto cycles = [](const ResultLayer& total) { return static_cast<double>(total.cycles); };
  const auto bytes = [](const ResultLayer& total) {
    return static_cast<double>(total.dram_bytes());
  };
  std::string text = names.second + " takes " +
                     compared_words(cycles(b), cycles(a), " cycles", names.first) + " and moves " +
                     compared_words(bytes(b), bytes(a), " bytes of DRAM", names.first) + ".";
  if (compares_energy(pair)) {
    text += " It takes " +
            compared_words(*b.energy, *a.energy, " energy", names.first, Measure::kEnergy) + ".";
  }
  if (clocks_differ(pair)) {
    text += " The clocks differ: it takes " +
            compared_words(*pair.second->simulated_seconds, *pair.first->simulated_seconds, " time",
                           names.first, Measure::kEnergy) +
            ".";
  }
  if (a.limited_by != b.limited_by) {
    text += " It is " + limit_text(b) + "; " + names.first + " is " + limit_text(a) + ".";
  }
  return text;
}

void add_words(SheetTable& table, const Pair& pair, const PairNames& names, bool is_only) {
  const std::string subject = is_only ? "" : full_label(*pair.first) + ": ";
  if (!pair.first->ran() || !pair.second->ran()) {
    for (const auto& [result, name] :
         {std::pair{pair.first, names.first}, std::pair{pair.second, names.second}}) {
      if (!result->ran()) {
        table.rows.push_back({subject + "in " + name + " it does not run: " + result->error});
      }
    }
    return;
  }
  if (pair.first->total.macs != pair.second->total.macs) {
    table.rows.push_back({subject + names.first + " and " + names.second +
                          " are of other work: " + with_thousands(pair.first->total.macs) +
                          " MACs against " + with_thousands(pair.second->total.macs) + "."});
  }
  if (pair.first->energy_table != pair.second->energy_table && !pair.first->energy_table.empty() &&
      !pair.second->energy_table.empty()) {
    table.rows.push_back({subject + "Energies are not compared: those of " + names.first +
                          " are by the table " + echoed(pair.first->energy_table) + ", those of " +
                          names.second + " by " + echoed(pair.second->energy_table) + "."});
  }
  if (pair.first->total.cycles == pair.second->total.cycles &&
      pair.first->total.dram_bytes() == pair.second->total.dram_bytes() &&
      (!compares_energy(pair) || *pair.first->total.energy == *pair.second->total.energy) &&
      !clocks_differ(pair)) {
    table.rows.push_back(
        {subject + (is_only ? "Cycles" : "cycles") + " and bytes of DRAM are the same in both."});
  } else {
    table.rows.push_back({subject + total_sentence(pair, names)});
  }
  for (const std::string& sentence :
       difference_words(*pair.second, *pair.first, Measure::kCycles, {names.second, names.first},
                        is_only ? kMostLayers : 1)) {
    table.rows.push_back({subject + sentence});
  }
}

// "base.json has 'vgg16 on pe16x16, ws'", those most like the other's first result first.
std::string contents_of(const ResultsFile& file, const ResultsFile& other) {
  const std::string label = other.results.empty() ? "" : full_label(other.results.front());
  return file.name + " has " + nearest_results(label, file.results);
}

}  // namespace

Sheet comparison_sheet(const ResultsFile& first, const ResultsFile& second) {
  const std::vector<Pair> pairs = pairs_of(first, second);
  if (pairs.empty()) {
    throw_bad_input(first.name + " and " + second.name +
                    " have no result of one model, configuration and dataflow in common; " +
                    contents_of(first, second) + "; " + contents_of(second, first));
  }
  const bool is_only = pairs.size() == 1;
  const PairNames names{echoed(first.name), echoed(second.name)};
  Sheet sheet;
  sheet.schema = "qsim.compare/1";
  sheet.add("first", first.name);
  sheet.add("second", second.name);
  SheetTable words{"in_words", {"sentence"}, {}};
  for (const Pair& pair : pairs) add_words(words, pair, names, is_only);
  sheet.tables = {words, totals_table(pairs)};
  const bool has_layers = is_only && pairs[0].first->ran() && pairs[0].second->ran();
  if (has_layers) sheet.tables.push_back(layers_table(pairs[0]));
  const bool is_one_each = first.results.size() == 1 && second.results.size() == 1;
  if (!is_one_each) {
    sheet.tables.push_back(only_table("only_in_first", first, second));
    sheet.tables.push_back(only_table("only_in_second", second, first));
  }
  return sheet;
}

}  // namespace qsim::report
