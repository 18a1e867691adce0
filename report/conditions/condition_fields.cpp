// The fields that --fail-if can name.
#include <algorithm>
#include <array>

#include "report/conditions/condition_parser.h"

namespace qsim::report {
namespace {

struct Field {
  const char* name;
  std::optional<double> (*value)(const ResultLayer& layer);
};

template <typename Number>
std::optional<double> of(Number number) {
  return static_cast<double>(number);
}

constexpr std::array<Field, 9> kFields = {{
    {"cycles", [](const ResultLayer& layer) { return of(layer.cycles); }},
    {"macs", [](const ResultLayer& layer) { return of(layer.macs); }},
    {"utilization", [](const ResultLayer& layer) { return of(layer.utilization); }},
    {"dram_read_bytes", [](const ResultLayer& layer) { return of(layer.dram_read_bytes); }},
    {"dram_write_bytes", [](const ResultLayer& layer) { return of(layer.dram_write_bytes); }},
    {"dram_bytes", [](const ResultLayer& layer) { return of(layer.dram_bytes()); }},
    {"limiter_busy", [](const ResultLayer& layer) { return of(layer.limiter_busy); }},
    {"energy", [](const ResultLayer& layer) { return layer.energy; }},
    {"energy_delay",
     [](const ResultLayer& layer) -> std::optional<double> {
       if (!layer.energy) return std::nullopt;
       return *layer.energy * static_cast<double>(layer.cycles);
     }},
}};

struct NetworkField {
  const char* name;
  std::optional<double> (*value)(const NetworkResult& result);
};

constexpr std::array<NetworkField, 4> kNetworkFields = {{
    {"tops_per_watt", [](const NetworkResult& result) { return result.tops_per_watt; }},
    {"area_mm2", [](const NetworkResult& result) { return result.area_mm2; }},
    {"pes", [](const NetworkResult& result) { return of(result.pes); }},
    {"simulated_seconds", [](const NetworkResult& result) { return result.simulated_seconds; }},
}};

}  // namespace

std::vector<std::string> condition_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  for (const NetworkField& field : kNetworkFields) names.emplace_back(field.name);
  return names;
}

bool is_network_field(const std::string& name) {
  return std::any_of(kNetworkFields.begin(), kNetworkFields.end(),
                     [&](const NetworkField& field) { return name == field.name; });
}

bool needs_energy_table(const std::string& name) {
  return name == "energy" || name == "energy_delay" || name == "tops_per_watt" ||
         name == "area_mm2";
}

std::optional<double> condition_value(const NetworkResult& result, const ResultLayer& layer,
                                      const std::string& name) {
  for (const Field& field : kFields) {
    if (name == field.name) return field.value(layer);
  }
  for (const NetworkField& field : kNetworkFields) {
    if (name == field.name) return field.value(result);
  }
  QSIM_CHECK(false, "field '" + name + "' is not in the list");
  return std::nullopt;
}

}  // namespace qsim::report
