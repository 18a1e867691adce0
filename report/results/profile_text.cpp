// profile_text(): the profile as people read it.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "report/energy_text.h"
#include "report/results/profile.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr std::size_t kMostOfFront = 6;  // points by name
constexpr const char* kExtrapolatedMark = "*";

struct Column {
  TableColumn heading;
  // Called for a point that ran; the columns that say which point it is, for any point.
  std::function<std::string(const NetworkResult& point)> cell;
};

std::string set_value(const NetworkResult& point, const std::string& field) {
  for (const auto& [name, value] : point.set) {
    if (name == field) return set_text(value);
  }
  return "-";
}

template <typename Text>
std::string text_if(const std::optional<double>& number, Text text) {
  return number ? text(*number) : "-";
}

// How much more of the measure the point has than the winner of its model. A difference is never
// shown as none.
std::string against_best(const Profile& profile, const NetworkResult& point) {
  for (const Winner& winner : profile.winners) {
    if (winner.model != point.model) continue;
    const NetworkResult& best = profile.points[winner.point];
    const auto index = static_cast<std::size_t>(&point - profile.points.data());
    const bool is_equal = std::binary_search(winner.equal.begin(), winner.equal.end(), index);
    if (index == winner.point || is_equal) return "best";
    const double base = *measured(best.total, profile.measure);
    const double value = *measured(point.total, profile.measure);
    if (value == base) return "equal";
    if (base == 0) return "-";
    return "+" + share_text(value / base - 1);
  }
  return "-";
}

using CellText = std::function<std::string(const NetworkResult& point)>;

void add(std::vector<Column>& columns, const std::string& title, CellText cell) {
  columns.push_back({{title, true, false}, std::move(cell)});
}

// What tells a point from the others.
std::vector<Column> name_columns(const Profile& profile) {
  std::vector<Column> columns;
  const auto add_text = [&columns](const char* title, bool shrinkable, CellText cell) {
    columns.push_back({{title, false, shrinkable}, std::move(cell)});
  };
  if (models_of(profile).size() > 1) {
    add_text("model", true, [](const NetworkResult& point) { return point.model; });
  }
  add_text("config", true, [](const NetworkResult& point) { return point.config; });
  for (const std::string& field : set_fields(profile)) {
    add(columns, field, [field](const NetworkResult& point) { return set_value(point, field); });
  }
  add_text("dataflow", false, [](const NetworkResult& point) { return point.dataflow; });
  return columns;
}

// Beside what it compares. Two columns are the bytes of DRAM, so it says that it is their sum.
void add_against_best(std::vector<Column>& columns, const Profile& profile, Measure beside) {
  if (profile.measure != beside) return;
  add(columns, beside == Measure::kDramBytes ? "sum against best" : "against best",
      [&profile](const NetworkResult& point) { return against_best(profile, point); });
}

void add_energy_columns(std::vector<Column>& columns, const Profile& profile) {
  if (profile.energy_table.empty()) return;
  add(columns, energy_heading(profile.energy_unit),
      [](const NetworkResult& point) { return text_if(point.total.energy, energy_number); });
  add_against_best(columns, profile, Measure::kEnergy);
  add(columns, energy_delay_heading(profile.energy_unit), [](const NetworkResult& point) {
    return text_if(measured(point.total, Measure::kEnergyDelay), energy_delay_number);
  });
  add_against_best(columns, profile, Measure::kEnergyDelay);
  add(columns, "TOPS/W",
      [](const NetworkResult& point) { return text_if(point.tops_per_watt, four_digits); });
  add(columns, "mm2", [](const NetworkResult& point) {
    const std::string mark = point.area_extrapolated.empty() ? "" : kExtrapolatedMark;
    return text_if(point.area_mm2, four_digits) + mark;
  });
}

bool clocks_differ(const Profile& profile) {
  const NetworkResult* first = nullptr;
  for (const NetworkResult& point : profile.points) {
    if (!point.ran()) continue;
    if (first == nullptr) first = &point;
    if (clocks_differ(*first, point)) return true;
  }
  return false;
}

std::string limit_cell(const NetworkResult& point) {
  std::string limit = point.total.limited_by;
  std::replace(limit.begin(), limit.end(), '_', ' ');
  return limit + " " + percent(point.total.limiter_busy);
}

std::vector<Column> cost_columns(const Profile& profile) {
  std::vector<Column> columns;
  add(columns, "PEs", [](const NetworkResult& point) { return with_thousands(point.pes); });
  add(columns, "cycles",
      [](const NetworkResult& point) { return with_thousands(point.total.cycles); });
  add_against_best(columns, profile, Measure::kCycles);
  if (clocks_differ(profile)) {
    add(columns, "time",
        [](const NetworkResult& point) { return text_if(point.simulated_seconds, seconds_text); });
  }
  add(columns, "util", [](const NetworkResult& point) { return percent(point.total.utilization); });
  add(columns, "read MB",
      [](const NetworkResult& point) { return megabytes(point.total.dram_read_bytes); });
  add(columns, "write MB",
      [](const NetworkResult& point) { return megabytes(point.total.dram_write_bytes); });
  add_against_best(columns, profile, Measure::kDramBytes);
  add_energy_columns(columns, profile);
  columns.push_back({{"limited by", false, false}, limit_cell});
  return columns;
}

std::string table_text(const Profile& profile) {
  const std::vector<Column> names = name_columns(profile);
  const std::vector<Column> costs = cost_columns(profile);
  TextTable table;
  for (const Column& column : names) table.columns.push_back(column.heading);
  for (const Column& column : costs) table.columns.push_back(column.heading);
  for (const NetworkResult& point : profile.points) {
    std::vector<std::string> cells;
    for (const Column& column : names) cells.push_back(column.cell(point));
    if (point.ran()) {
      for (const Column& column : costs) cells.push_back(column.cell(point));
    } else {
      cells.insert(cells.end(), costs.size() - 1, "-");
      cells.push_back(point.lacks_memory ? "no memory" : "does not run");
    }
    table.rows.push_back(std::move(cells));
  }
  return layout(table);
}

// What the table's numbers leave open, a line each.
std::string notes_text(const Profile& profile) {
  std::string text;
  const auto add_line = [&text](const std::string& line) { text += message_line(line) + "\n"; };
  if (!profile.energy_table.empty() && !energy_note(profile.energy_unit).empty()) {
    add_line(energy_note(profile.energy_unit));
  }
  if (clocks_differ(profile) && profile.measure == Measure::kCycles) {
    add_line(
        "the clocks differ: the winner has the fewest cycles, which need not be the least "
        "time");
  }
  std::set<std::string> reasons;
  for (const NetworkResult& point : profile.points) {
    if (!point.ran() || point.area_extrapolated.empty()) continue;
    if (!reasons.insert(point.area_extrapolated).second) continue;
    add_line(std::string(kExtrapolatedMark) +
             " the area is extrapolated: " + point.area_extrapolated);
  }
  return text;
}

const char* least_words(Measure measure) {
  constexpr const char* kLeast[] = {"fewest cycles", "fewest bytes of DRAM", "least energy",
                                    "least energy x cycles"};
  return kLeast[static_cast<std::size_t>(measure)];
}

std::string winner_text(const Winner& winner, const Profile& profile) {
  std::string text = "\nwinner for " + echoed(winner.model) + " (" + least_words(profile.measure) +
                     "): " + echoed(point_label(profile.points[winner.point])) + "\n";
  for (const std::string& reason : winner.reasons) text += "  " + message_line(reason) + "\n";
  return text;
}

// The points of a model that no other beats in all three costs at once; none for a single point.
std::string front_text(const std::string& model, const Profile& profile) {
  std::vector<const NetworkResult*> front;
  std::size_t count = 0;
  for (const NetworkResult& point : profile.points) {
    if (point.model != model || !point.ran()) continue;
    ++count;
    if (point.is_on_front) front.push_back(&point);
  }
  if (count < 2) return "";
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostOfFront, front.size()); ++i) {
    names += (i > 0 ? "; " : "") + point_label(*front[i]);
  }
  if (front.size() > kMostOfFront) {
    names += "; and " + std::to_string(front.size() - kMostOfFront) + " more";
  }
  return "  " +
         message_line("Pareto front in " + front_words(profile) + ", " +
                      with_thousands(std::uint64_t{front.size()}) + " of " +
                      with_thousands(std::uint64_t{count}) + " points: " + names + ".") +
         "\n";
}

// Each reason once, with the first point that it keeps from running and how many others. None
// where one reason is that of all points: the command's error says it.
std::string refused_text(const Profile& profile, bool lack_memory) {
  std::vector<const NetworkResult*> first;  // of each reason
  std::map<std::string, std::size_t> points;
  for (const NetworkResult& point : profile.points) {
    if (point.ran() || point.lacks_memory != lack_memory) continue;
    if (points[point.error]++ == 0) first.push_back(&point);
  }
  if (first.empty() || points[first[0]->error] == profile.points.size()) return "";
  std::string text = lack_memory ? "\nhas no memory\n" : "\ndoes not run\n";
  for (const NetworkResult* point : first) {
    const std::size_t others = points[point->error] - 1;
    const std::string more = others == 0 ? "" : " and " + std::to_string(others) + " more points";
    text += "  " + message_line(full_label(*point) + more + ": " + point->error) + "\n";
  }
  return text;
}

}  // namespace

std::string winners_summary(const Profile& profile) {
  std::string text;
  for (const Winner& winner : profile.winners) {
    text += (text.empty() ? "" : " ") + echoed(point_label(profile.points[winner.point])) +
            " wins for " + echoed(winner.model) + " (" + least_words(profile.measure) +
            "): " + winner.reasons[0] + " " + winner.reasons[1];
  }
  return text;
}

std::string profile_text(const Profile& profile) {
  std::string text = table_text(profile) + notes_text(profile);
  for (const Winner& winner : profile.winners) {
    text += winner_text(winner, profile) + front_text(winner.model, profile);
  }
  return text + refused_text(profile, false) + refused_text(profile, true);
}

}  // namespace qsim::report
