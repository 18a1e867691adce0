#include "report/results/profile.h"

#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/printable.h"
#include "report/json_text.h"
#include "report/results/result_json.h"
#include "report/text_table.h"

namespace qsim {
namespace {

constexpr std::size_t kMostLayers = 3;  // in the reasons
constexpr const char* kMeasureNames[] = {"cycles", "dram_bytes", "energy", "energy_delay"};

std::vector<std::string> models_of(const Profile& profile) {
  std::vector<std::string> models;
  for (const NetworkResult& point : profile.points) {
    if (std::find(models.begin(), models.end(), point.model) == models.end()) {
      models.push_back(point.model);
    }
  }
  return models;
}

auto rank(const NetworkResult& point, Measure measure) {
  return std::tuple(measured(point.total, measure).value_or(0), point.total.cycles,
                    point.total.dram_bytes());
}

// The points of a model that ran, best first.
std::vector<std::size_t> ranked(const Profile& profile, const std::string& model) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.points.size(); ++i) {
    if (profile.points[i].model == model && profile.points[i].ran()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank(profile.points[a], profile.measure) < rank(profile.points[b], profile.measure);
  });
  return order;
}

// What tells a point from another: the parts of its label that the other does not have.
std::string name_beside(const NetworkResult& point, const NetworkResult& other) {
  std::string name = point.config == other.config ? "" : point.config;
  const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  for (const FieldValue& value : point.set) {
    if (std::find(other.set.begin(), other.set.end(), value) != other.set.end()) continue;
    add(value.first + " " + std::to_string(value.second));
  }
  if (point.dataflow != other.dataflow) add(point.dataflow);
  return name.empty() ? point_label(point) : name;
}

std::string limit_sentence(const NetworkResult& best) {
  return "It is " + limit_text(best.total) + "; utilization " + percent(best.total.utilization) +
         ", " + megabytes(best.total.dram_bytes()) + " MB of DRAM.";
}

void add_reasons(Winner& winner, const Profile& profile, const std::vector<std::size_t>& order) {
  const NetworkResult& best = profile.points[order.front()];
  const double value = *measured(best.total, profile.measure);
  if (order.size() == 1) {
    winner.reasons.push_back(
        "It is the only one that ran: " + measure_text(value, profile.measure) + ".");
    winner.reasons.push_back(limit_sentence(best));
    return;
  }
  const NetworkResult& next = profile.points[order[1]];
  const double other = *measured(next.total, profile.measure);
  const PairNames names{name_beside(best, next), name_beside(next, best)};
  winner.reasons.push_back(measure_text(value, profile.measure) + ", " +
                           compared_words(value, other, "", "the next best, " + names.second) +
                           " (" + measure_text(other, profile.measure) + ").");
  winner.reasons.push_back(limit_sentence(best));
  const std::vector<std::string> words =
      difference_words(best, next, profile.measure, names, kMostLayers);
  winner.reasons.insert(winner.reasons.end(), words.begin(), words.end());
}

// Which of the columns that tell points apart are needed.
struct Columns {
  bool model = false;
  bool energy = false;
  std::vector<std::string> fields;  // of set
};

Columns columns_of(const Profile& profile) {
  Columns columns;
  columns.model = models_of(profile).size() > 1;
  for (const NetworkResult& point : profile.points) {
    if (point.total.energy) columns.energy = true;
    for (const auto& [field, value] : point.set) {
      const bool is_new =
          std::find(columns.fields.begin(), columns.fields.end(), field) == columns.fields.end();
      if (is_new) columns.fields.push_back(field);
    }
  }
  return columns;
}

std::string best_cell(const Profile& profile, std::size_t point) {
  for (const Winner& winner : profile.winners) {
    const NetworkResult& best = profile.points[winner.point];
    if (winner.model != profile.points[point].model) continue;
    if (winner.point == point) return "best";
    const double base = *measured(best.total, profile.measure);
    const double value = *measured(profile.points[point].total, profile.measure);
    return base == 0 ? "-" : "+" + percent(value / base - 1);
  }
  return "-";
}

std::vector<std::string> row_of(const Profile& profile, std::size_t index, const Columns& columns) {
  const NetworkResult& point = profile.points[index];
  std::vector<std::string> cells;
  if (columns.model) cells.push_back(point.model);
  cells.push_back(point.config);
  for (const std::string& field : columns.fields) {
    const auto found = std::find_if(point.set.begin(), point.set.end(),
                                    [&](const FieldValue& value) { return value.first == field; });
    cells.push_back(found == point.set.end() ? "-" : std::to_string(found->second));
  }
  cells.push_back(point.dataflow);
  if (!point.ran()) {
    cells.insert(cells.end(), columns.energy ? 6 : 5, "-");
    cells.push_back("does not run");
    return cells;
  }
  const ResultLayer& total = point.total;
  cells.insert(cells.end(),
               {with_thousands(total.cycles), best_cell(profile, index), percent(total.utilization),
                megabytes(total.dram_read_bytes), megabytes(total.dram_write_bytes)});
  if (columns.energy) {
    cells.push_back(total.energy ? with_thousands(static_cast<std::uint64_t>(*total.energy / 1e6))
                                 : "-");
  }
  std::string limit = total.limited_by;
  std::replace(limit.begin(), limit.end(), '_', ' ');
  cells.push_back(limit + " " + percent(total.limiter_busy));
  return cells;
}

std::string table_text(const Profile& profile) {
  const Columns columns = columns_of(profile);
  TextTable table;
  if (columns.model) table.columns.push_back({"model"});
  table.columns.push_back({"config"});
  for (const std::string& field : columns.fields) table.columns.push_back({field, true, false});
  table.columns.insert(table.columns.end(), {{"dataflow", false, false},
                                             {"cycles", true, false},
                                             {"against best", true, false},
                                             {"util", true, false},
                                             {"read MB", true, false},
                                             {"write MB", true, false}});
  if (columns.energy) table.columns.push_back({"energy / 10^6", true, false});
  table.columns.push_back({"limited by", false, false});
  for (std::size_t i = 0; i < profile.points.size(); ++i) {
    table.rows.push_back(row_of(profile, i, columns));
  }
  return layout(table);
}

nlohmann::ordered_json hashes_json(const std::vector<std::pair<std::string, std::string>>& files) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [name, hash] : files) json.push_back({{"name", name}, {"hash", hash}});
  return json;
}

}  // namespace

void choose_winners(Profile& profile) {
  for (const std::string& model : models_of(profile)) {
    const std::vector<std::size_t> order = ranked(profile, model);
    if (order.empty()) continue;
    Winner winner{model, order.front(), {}};
    add_reasons(winner, profile, order);
    profile.winners.push_back(std::move(winner));
  }
}

std::string profile_text(const Profile& profile) {
  std::string text = table_text(profile);
  for (const Winner& winner : profile.winners) {
    text += "\nwinner for " + echoed(winner.model) + ": " +
            echoed(point_label(profile.points[winner.point])) + "\n";
    for (const std::string& reason : winner.reasons) text += "  " + message_line(reason) + "\n";
  }
  std::string refused;
  for (const NetworkResult& point : profile.points) {
    if (point.ran()) continue;
    refused += "  " + message_line(full_label(point) + ": " + point.error) + "\n";
  }
  if (!refused.empty()) text += "\ndoes not run\n" + refused;
  return text;
}

std::string profile_json(const Profile& profile) {
  nlohmann::ordered_json json = {
      {"schema", "qsim.profile/1"},
      {"provenance",
       {{"version", profile.version},
        {"commit", profile.commit},
        {"argv", profile.argv},
        {"models", hashes_json(profile.models)},
        {"configs", hashes_json(profile.configs)}}},
      {"measure", kMeasureNames[static_cast<std::size_t>(profile.measure)]}};
  json["winners"] = nlohmann::ordered_json::array();
  for (const Winner& winner : profile.winners) {
    json["winners"].push_back(
        {{"model", winner.model}, {"point", winner.point}, {"reasons", winner.reasons}});
  }
  json["points"] = nlohmann::ordered_json::array();
  for (const NetworkResult& point : profile.points) json["points"].push_back(result_json(point));
  return json_text(json);
}

}  // namespace qsim
