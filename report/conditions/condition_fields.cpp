// The fields that --fail-if can name.
#include <array>

#include "report/conditions/condition_parser.h"

namespace qsim {
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

}  // namespace

std::vector<std::string> condition_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  return names;
}

std::optional<double> condition_value(const ResultLayer& layer, const std::string& name) {
  for (const Field& field : kFields) {
    if (name == field.name) return field.value(layer);
  }
  QSIM_CHECK(false, "field '" + name + "' is not in the list");
  return std::nullopt;
}

}  // namespace qsim
