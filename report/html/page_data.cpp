#include "report/html/page_data.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "report/json_printer.h"
#include "report/limiter_words.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

// The points of a profile as the report's page draws them: a line of a table each, and a mark of
// the Pareto chart.

// The points that ran, in their order, as objects of at most about `most_bytes` together, and how
// many have no room. `runs` are those of the page; a point names its own.
struct PointData {
  nlohmann::ordered_json points;
  std::size_t left_out = 0;
};

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json point_json(const NetworkResult& point, const std::string& label, bool wins) {
  const ResultLayer& total = point.total;
  return {{"label", label},
          {"model", point.model},
          {"dataflow", total.dataflow},
          {"cycles", total.cycles},
          {"dram_bytes", total.dram_bytes()},
          {"energy", number(total.energy)},
          {"energy_delay", number(measured(total, Measure::kEnergyDelay))},
          {"area_mm2", number(point.area_mm2)},
          {"pes", point.pes},
          {"sram_kib", point.sram_kib},
          {"utilization", total.utilization},
          {"limited_by", total.limited_by},
          {"limiter_busy", total.limiter_busy},
          {"pareto_front", point.is_on_front},
          {"wins", wins},
          {"run", nullptr}};
}

std::size_t bytes_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).size() + 1;
}

std::set<std::size_t> winners_of(const Profile& profile) {
  std::set<std::size_t> points;
  for (const Winner& winner : profile.winners) {
    points.insert(winner.point);
    points.insert(winner.equal.begin(), winner.equal.end());
  }
  return points;
}

// The points that ran, those first that the page must have, then by the measure.
std::vector<std::size_t> most_telling_first(const Profile& profile,
                                            const std::set<std::size_t>& winners) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.points.size(); ++i) {
    if (profile.points[i].ran()) order.push_back(i);
  }
  const auto rank = [&](std::size_t i) {
    const NetworkResult& point = profile.points[i];
    return std::pair(!winners.contains(i) && !point.is_on_front,
                     measured(point.total, profile.measure).value_or(0));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

// What the page says of the whole profile: its measure, energies, winners and Pareto front.
Json profile_data(const Profile& profile) {
  Json json = {{"measure", measure_name(profile.measure)},
               {"pareto_front_of", front_words(profile)},
               {"energy", nullptr},
               {"winners", Json::array()}};
  if (!profile.energy_table.empty()) {
    json["energy"] = {{"table", profile.energy_table}, {"unit", profile.energy_unit}};
  }
  for (const Winner& winner : profile.winners) {
    json["winners"].push_back({{"model", winner.model},
                               {"label", point_label(profile.points[winner.point])},
                               {"reasons", winner.reasons}});
  }
  return json;
}

PointData point_data(const Profile& profile, std::span<const PageRun> runs,
                     std::size_t most_bytes) {
  const std::set<std::size_t> winners = winners_of(profile);
  const bool has_models = models_of(profile).size() > 1;
  std::map<std::size_t, Json> kept;  // in the order of the points
  std::size_t left_out = 0;
  for (const std::size_t i : most_telling_first(profile, winners)) {
    const NetworkResult& point = profile.points[i];
    const std::string label = has_models ? full_label(point) : point_label(point);
    Json json = point_json(point, label, winners.contains(i));
    const std::size_t bytes = bytes_of(json);
    if (left_out > 0 || bytes > most_bytes) {
      ++left_out;
      continue;
    }
    most_bytes -= bytes;
    kept.emplace(i, std::move(json));
  }
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto found = kept.find(runs[r].point);
    if (found != kept.end()) found->second["run"] = r;
  }
  PointData data{Json::array(), left_out};
  for (auto& [index, json] : kept) data.points.push_back(std::move(json));
  return data;
}

using Json = nlohmann::ordered_json;

// ASCII, and without '<', so that no text in it ends the script element that holds it.
std::string compact(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

// "The network takes ... cycles and is limited by ..."
std::string network_words(const RunReport& report) {
  return limiter_words("The network", *report.total.timing, report.config);
}

const ReportLayer* longest_layer(const RunReport& report) {
  const auto longest = std::max_element(report.layers.begin(), report.layers.end(),
                                        [](const ReportLayer& a, const ReportLayer& b) {
                                          return a.timing->cycles < b.timing->cycles;
                                        });
  return longest == report.layers.end() ? nullptr : &*longest;
}

// The layer that takes most cycles, and what limits it; "" for a network of one layer.
std::string longest_layer_words(const RunReport& report) {
  const ReportLayer* layer = longest_layer(report);
  if (layer == nullptr || report.layers.size() < 2) return "";
  const double share =
      static_cast<double>(layer->timing->cycles) / static_cast<double>(report.total.timing->cycles);
  return " Its longest layer has " + percent(share) +
         " of the cycles: " + limiter_words(echoed(layer->name), *layer->timing, report.config);
}

// What each part of array_time_pe_cycles is, in words; a layer need not have each part.
Json array_time_labels(const RunReport& report) {
  Json labels = Json::object();
  for (const ArrayTimePart& part : report.total.timing->array_time) labels[part.id] = part.label;
  return labels;
}

// The dataflow of all layers, "mixed" where they differ.
std::string dataflow_of(const RunReport& report) {
  std::set<std::string> dataflows;
  for (const ReportLayer& layer : report.layers) {
    if (!layer.dataflow.empty()) dataflows.insert(layer.dataflow);
  }
  if (dataflows.size() > 1) return "mixed";
  return dataflows.empty() ? "" : *dataflows.begin();
}

Json layer_words(const RunReport& report) {
  Json words = Json::array();
  for (const ReportLayer& layer : report.layers) {
    words.push_back(limiter_words(echoed(layer.name), *layer.timing, report.config));
  }
  return words;
}

// All but the timeline.
Json run_data(const PageRun& run) {
  return {{"label", run.label},
          {"dataflow", dataflow_of(*run.report)},
          {"words", network_words(*run.report)},
          {"array_time_labels", array_time_labels(*run.report)},
          {"area_mm2", run.area_mm2 ? Json(*run.area_mm2) : Json(nullptr)},
          {"layer_words", layer_words(*run.report)},
          {"run", Json::parse(run_json(*run.report))},
          {"timeline", nullptr}};
}

Json timeline_json(const Timeline& timeline) {
  Json json = {{"joined_gap", timeline.joined_gap ? Json(*timeline.joined_gap) : Json(nullptr)},
               {"lanes", Json::object()}};
  for (std::size_t l = 0; l < kTimelineLanes; ++l) {
    json["lanes"][std::string(kTimelineLaneNames[l])] = lane_text(timeline.lanes[l]);
  }
  return json;
}

// Shares the room between the timelines of the runs.
void add_timelines(std::span<const PageRun> runs, std::vector<Json>& page, std::size_t room) {
  const auto wanted = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.begin() + std::ssize(page),
                    [](const PageRun& run) { return run.timeline != nullptr; }));
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (runs[i].timeline == nullptr) continue;
    const std::size_t share = room / wanted;
    const Json timeline = timeline_json(fitted(*runs[i].timeline, share));
    if (compact(timeline).size() <= share + 256) page[i]["timeline"] = timeline;
  }
}

}  // namespace

std::string page_data(const PageContent& content, std::size_t most_bytes) {
  const std::span<const PageRun> runs = content.runs;
  std::size_t room = most_bytes;
  std::vector<Json> page;
  for (const PageRun& run : runs) {
    Json json = run_data(run);
    const std::size_t bytes = compact(json).size();
    // A profile's points and its timelines need room too.
    const std::size_t free =
        content.profile == nullptr ? room : room - std::min(room, most_bytes / 2);
    if (!page.empty() && bytes > free) break;
    page.push_back(std::move(json));
    room -= std::min(room, bytes);
  }
  Json json = {{"schema", "qsim.page/2"}};
  if (content.profile != nullptr) {
    PointData points = point_data(*content.profile, runs.first(page.size()), room / 2);
    json["profile"] = profile_data(*content.profile);
    json["points_left_out"] = points.left_out;
    json["points"] = std::move(points.points);
  } else {
    json["profile"] = nullptr;
    json["points_left_out"] = 0;
    json["points"] = Json::array();
  }
  room -= std::min(room, compact(json).size());
  add_timelines(runs, page, room);
  json["runs"] = std::move(page);
  return compact(json);
}

std::string page_title(const PageContent& content) {
  std::set<std::string> models;
  std::set<std::string> configs;
  const auto named = [](const std::set<std::string>& names, const char* what) {
    return names.size() == 1 ? echoed(*names.begin()) : with_thousands(names.size()) + " " + what;
  };
  if (content.profile == nullptr) {
    models.insert(content.runs.front().report->provenance.model);
    configs.insert(content.runs.front().report->config.name);
    return named(models, "models") + " on " + named(configs, "configurations");
  }
  for (const NetworkResult& point : content.profile->points) {
    models.insert(point.model);
    configs.insert(point.config);
  }
  const std::uint64_t count = content.profile->points.size();
  return named(models, "models") + " on " + named(configs, "configurations") + ", " +
         with_thousands(count) + (count == 1 ? " point" : " points");
}

std::string page_summary(const PageContent& content) {
  if (content.profile != nullptr) return winners_summary(*content.profile);
  const RunReport& report = *content.runs.front().report;
  return network_words(report) + longest_layer_words(report);
}

}  // namespace qsim::report
