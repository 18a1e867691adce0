#include "report/html/page_data.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "core/printable.h"
#include "report/json_printer.h"
#include "report/limiter_words.h"
#include "report/text_table.h"

namespace qsim {
namespace {

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

std::uint64_t cycles_of(const PageRun& run) { return run.report->total.timing->cycles; }

// Indices of the runs, fewest cycles first.
std::vector<std::size_t> fewest_cycles_first(std::span<const PageRun> runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cycles_of(runs[a]) < cycles_of(runs[b]);
  });
  return order;
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

// Of a network of several layers: the layer that takes most cycles, and what limits it.
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

// Everything but the layers and the timeline, which take the space.
Json outline(const PageRun& run, const Json& run_document) {
  Json json = {{"label", run.label},
               {"dataflow", dataflow_of(*run.report)},
               {"words", network_words(*run.report)},
               {"array_time_labels", array_time_labels(*run.report)},
               {"area_mm2", run.area_mm2 ? Json(*run.area_mm2) : Json(nullptr)},
               {"detail", false},
               {"layer_words", Json::array()},
               {"run", run_document},
               {"timeline", nullptr}};
  json["run"]["layers"] = Json::array();
  return json;
}

Json timeline_json(const Timeline& timeline) {
  Json json = {{"joined_gap", timeline.joined_gap ? Json(*timeline.joined_gap) : Json(nullptr)},
               {"lanes", Json::object()}};
  for (std::size_t l = 0; l < kTimelineLanes; ++l) {
    json["lanes"][std::string(kTimelineLaneNames[l])] = lane_text(timeline.lanes[l]);
  }
  return json;
}

// Puts each run's layers in while they fit; returns what has no room left, in bytes.
std::size_t add_layers_that_fit(std::span<const PageRun> runs, std::span<const Json> documents,
                                std::span<const std::size_t> order, std::vector<Json>& page,
                                std::size_t room) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PageRun& run = runs[order[i]];
    const Json& layers = documents[order[i]]["layers"];
    const Json words = layer_words(*run.report);
    const std::size_t bytes = compact(layers).size() + compact(words).size();
    if (i > 0 && bytes > room) break;
    Json& json = page[order[i]];
    json["detail"] = true;
    json["run"]["layers"] = layers;
    json["layer_words"] = words;
    room -= std::min(room, bytes);
  }
  return room;
}

// Shares the room between the timelines of the runs that have their layers.
void add_timelines(std::span<const PageRun> runs, std::vector<Json>& page, std::size_t room) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].timeline != nullptr && page[i]["detail"].get<bool>()) wanted.push_back(i);
  }
  for (const std::size_t i : wanted) {
    const std::size_t share = room / wanted.size();
    const Json timeline = timeline_json(fitted(*runs[i].timeline, share));
    if (compact(timeline).size() <= share + 256) page[i]["timeline"] = timeline;
  }
}

}  // namespace

std::string page_data(std::span<const PageRun> runs, std::size_t most_bytes) {
  std::vector<Json> documents;
  std::vector<Json> page;
  std::size_t used = 0;
  for (const PageRun& run : runs) {
    documents.push_back(Json::parse(run_json(*run.report)));
    page.push_back(outline(run, documents.back()));
    used += compact(page.back()).size();
  }
  std::vector<std::size_t> order = fewest_cycles_first(runs);
  std::vector<bool> left_out(runs.size(), false);
  for (; used > most_bytes / 2 && order.size() > 1; order.pop_back()) {
    used -= compact(page[order.back()]).size();
    left_out[order.back()] = true;
  }
  const std::size_t room = used < most_bytes ? most_bytes - used : 0;
  add_timelines(runs, page, add_layers_that_fit(runs, documents, order, page, room));
  Json json = {{"schema", "qsim.page/1"},
               {"runs_left_out", runs.size() - order.size()},
               {"runs", Json::array()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!left_out[i]) json["runs"].push_back(std::move(page[i]));
  }
  return compact(json);
}

std::string page_title(std::span<const PageRun> runs) {
  std::set<std::string> models;
  std::set<std::string> configs;
  for (const PageRun& run : runs) {
    models.insert(run.report->provenance.model);
    configs.insert(run.report->config.name);
  }
  const auto named = [](const std::set<std::string>& names, const char* what) {
    return names.size() == 1 ? echoed(*names.begin()) : with_thousands(names.size()) + " " + what;
  };
  const std::string count =
      runs.size() == 1 ? "" : ", " + with_thousands(std::uint64_t{runs.size()}) + " runs";
  return named(models, "models") + " on " + named(configs, "configurations") + count;
}

std::string page_summary(std::span<const PageRun> runs) {
  const PageRun& best = runs[fewest_cycles_first(runs).front()];
  const std::string words = network_words(*best.report) + longest_layer_words(*best.report);
  if (runs.size() == 1) return words;
  return "Of " + with_thousands(std::uint64_t{runs.size()}) + " runs, " + echoed(best.label) +
         " takes the fewest cycles. " + words;
}

}  // namespace qsim
