#include "report/results/profile.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/machine/energy_table.h"
#include "report/json_text.h"
#include "report/results/pareto_front.h"
#include "report/results/result_json.h"

namespace qsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json hashes_json(const std::vector<std::pair<std::string, std::string>>& files) {
  Json json = Json::array();
  for (const auto& [name, hash] : files) json.push_back({{"name", name}, {"hash", hash}});
  return json;
}

Json search_json(const ProfileSearch& search) {
  return {{"objective", search.objective},
          {"slack", search.slack ? Json(*search.slack) : Json(nullptr)},
          {"mapping_search", search.mapping_search},
          {"mapping_budget", search.mapping_budget ? Json(*search.mapping_budget) : Json(nullptr)},
          {"mapping", search.mapping.empty() ? Json(nullptr) : Json(search.mapping)}};
}

Json energy_json(const Profile& profile) {
  if (profile.energy_table.empty()) return nullptr;
  return {{"table", profile.energy_table}, {"unit", profile.energy_unit}};
}

// What a point has beside the others of its profile.
void add_standing(Json& json, const NetworkResult& point) {
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  json["energy_delay"] = number(measured(point.total, Measure::kEnergyDelay));
  json["tops_per_watt"] = number(point.tops_per_watt);
  json["area_mm2"] = number(point.area_mm2);
  json["area_extrapolated"] = point.area_extrapolated;
  json["simulated_seconds"] = number(point.simulated_seconds);
  json["sram_kib"] = point.sram_kib;
  json["pareto_front"] = point.is_on_front;
}

bool has_energy(const Profile& profile) {
  return std::any_of(profile.points.begin(), profile.points.end(),
                     [](const NetworkResult& point) { return point.total.energy.has_value(); });
}

bool has_area(const Profile& profile) {
  return std::any_of(profile.points.begin(), profile.points.end(),
                     [](const NetworkResult& point) { return point.area_mm2.has_value(); });
}

void mark_front(Profile& profile, const std::string& model) {
  const Measure second = has_energy(profile) ? Measure::kEnergy : Measure::kDramBytes;
  std::vector<NetworkResult*> points;
  std::vector<PointCosts> costs;
  for (NetworkResult& point : profile.points) {
    if (point.model != model || !point.ran()) continue;
    points.push_back(&point);
    costs.push_back({static_cast<double>(point.total.cycles),
                     measured(point.total, second).value_or(0),
                     point.area_mm2.value_or(static_cast<double>(point.pes))});
  }
  const std::vector<bool> is_on_front = pareto_front(costs);
  for (std::size_t i = 0; i < points.size(); ++i) points[i]->is_on_front = is_on_front[i];
}

}  // namespace

std::string measure_name(Measure measure) {
  constexpr const char* kNames[] = {"cycles", "dram_bytes", "energy", "energy_delay"};
  return kNames[static_cast<std::size_t>(measure)];
}

std::vector<std::string> set_fields(const Profile& profile) {
  std::vector<std::string> fields;
  for (const NetworkResult& point : profile.points) {
    for (const auto& [field, value] : point.set) {
      if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(field);
    }
  }
  return fields;
}

std::vector<std::string> models_of(const Profile& profile) {
  std::vector<std::string> models;
  for (const NetworkResult& point : profile.points) {
    if (std::find(models.begin(), models.end(), point.model) == models.end()) {
      models.push_back(point.model);
    }
  }
  return models;
}

void complete_points(Profile& profile) {
  for (NetworkResult& point : profile.points) {
    if (!point.total.energy) continue;
    point.energy_table = profile.energy_table;
    point.energy_unit = profile.energy_unit;
    const double energy = *point.total.energy;
    if (profile.energy_unit != kPicojoules || energy <= 0) continue;
    point.tops_per_watt = 2 * static_cast<double>(point.total.macs) / energy;
  }
  for (const std::string& model : models_of(profile)) mark_front(profile, model);
}

std::string front_words(const Profile& profile) {
  return std::string("cycles, ") + (has_energy(profile) ? "energy" : "bytes of DRAM") + " and " +
         (has_area(profile) ? "area" : "PEs");
}

std::string profile_json(const Profile& profile) {
  Json json = {{"schema", "qsim.profile/1"},
               {"provenance",
                {{"version", profile.version},
                 {"commit", profile.commit},
                 {"argv", profile.argv},
                 {"models", hashes_json(profile.models)},
                 {"configs", hashes_json(profile.configs)}}},
               {"measure", measure_name(profile.measure)},
               {"search", search_json(profile.search)},
               {"energy", energy_json(profile)}};
  if (!profile.rounding.empty()) json["provenance"]["rounding"] = profile.rounding;
  json["winners"] = Json::array();
  for (const Winner& winner : profile.winners) {
    json["winners"].push_back({{"model", winner.model},
                               {"point", winner.point},
                               {"equal", winner.equal},
                               {"reasons", winner.reasons}});
  }
  json["points"] = Json::array();
  for (const NetworkResult& point : profile.points) {
    json["points"].push_back(result_json(point));
    if (point.ran()) add_standing(json["points"].back(), point);
  }
  return json_text(json);
}

}  // namespace qsim::report
