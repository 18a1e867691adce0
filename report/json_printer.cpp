#include "report/json_printer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "report/json_text.h"

namespace qsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json provenance_json(const Provenance& provenance) {
  Json json = {{"version", provenance.version}, {"commit", provenance.commit},
               {"argv", provenance.argv},       {"seed", provenance.seed},
               {"config", provenance.config},   {"config_hash", provenance.config_hash},
               {"model", provenance.model},     {"model_hash", provenance.model_hash},
               {"input", provenance.input},     {"input_hash", provenance.input_hash}};
  if (!provenance.rounding.empty()) json["rounding"] = provenance.rounding;
  if (!provenance.rtl_model.empty()) json["rtl_model"] = provenance.rtl_model;
  return json;
}

Json config_json(const ArchConfig& config) {
  Json json = Json::object();
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_written(config, field)) continue;
    const std::string name(field.name);
    if (field.number != nullptr) {
      json[name] = config.*field.number;
    } else {
      json[name] = value_text(config, field);
    }
  }
  if (!config.host) return json;
  Json& host = json["host"];
  for (const HostConfigField& field : host_config_fields()) {
    if (field.flag != nullptr) {
      host[std::string(field.name)] = *config.host.*field.flag;
    } else {
      host[std::string(field.name)] = *config.host.*field.rate;
    }
  }
  return json;
}

Json stalls_json(const std::vector<Stall>& stalls) {
  Json json = Json::object();
  for (const Stall& stall : stalls) json[stall.semaphore] = stall.cycles;
  return json;
}

Json array_time_json(const std::vector<ArrayTimePart>& parts) {
  Json json = Json::object();
  for (const ArrayTimePart& part : parts) json[part.id] = part.pe_cycles;
  return json;
}

Json busy_json(const BusyCycles& busy) {
  Json json = Json::object();
  for (std::size_t u = 0; u < kUnits; ++u) json[std::string(kUnitNames[u])] = busy.units[u];
  return json;
}

Json read_bus_json(const BusyCycles& busy) {
  constexpr std::array<const char*, kLoadMemories> kNames = {"activations", "weights",
                                                             "parameters"};
  Json json = Json::object();
  for (std::size_t m = 0; m < kLoadMemories; ++m) json[kNames[m]] = busy.loads[m];
  return json;
}

Json critical_path_json(const PathCycles& cycles) {
  Json json = Json::object();
  for (std::size_t p = 0; p < kPathParts; ++p) json[std::string(kPathPartNames[p])] = cycles[p];
  return json;
}

void add_counts(Json& json, const ReportLayer& layer) {
  json["macs"] = layer.macs;
  json["cycles"] = layer.timing ? Json(layer.timing->cycles) : Json(nullptr);
  json["utilization"] = layer.timing ? Json(layer.timing->utilization) : Json(nullptr);
  json["dram_read_bytes"] = layer.dram_read_bytes;
  json["dram_write_bytes"] = layer.dram_write_bytes;
}

void add_timing(Json& json, const ReportLayer& layer) {
  json["stalls"] = layer.timing ? stalls_json(layer.timing->stalls) : Json::object();
  if (!layer.timing) return;
  json["stream_cycles"] = layer.timing->stream_cycles;
  json["fold_bubble_cycles"] = layer.timing->fold_bubble_cycles;
  json["start_cycles"] = layer.timing->start_cycles;
  json["drain_cycles"] = layer.timing->drain_cycles;
  json["limited_by"] = layer.timing->limited_by.name;
  json["limiter_busy"] = layer.timing->limiter_busy;
  json["critical_path_cycles"] = critical_path_json(layer.timing->critical_path);
  json["busy_cycles"] = busy_json(layer.timing->busy);
  json["read_bus_cycles"] = read_bus_json(layer.timing->busy);
  json["array_time_pe_cycles"] = array_time_json(layer.timing->array_time);
}

Json mapping_json(const Mapping& mapping) {
  Json json = Json::object();
  for (const MappingField& field : mapping_fields()) {
    const std::string name(field.name);
    if (field.words.empty()) {
      json[name] = field.get(mapping);
    } else if (field.is_yes_or_no()) {
      json[name] = field.get(mapping) != 0;
    } else {
      json[name] = field.text_of(mapping);
    }
  }
  return json;
}

Json memory_json(const MemoryEvents& memory) {
  return {{"reads", memory.reads},
          {"writes", memory.writes},
          {"read_bits", memory.read_bits},
          {"write_bits", memory.write_bits}};
}

Json events_json(const EnergyEvents& events) {
  return {{"pe_macs", events.pe_macs},
          {"activation_hop_bits", events.activation_hop_bits},
          {"psum_hop_bits", events.psum_hop_bits},
          {"weight_hop_bits", events.weight_hop_bits},
          {"adds", events.adds},
          {"activations", memory_json(events.activation)},
          {"weights", memory_json(events.weight)},
          {"accumulator", memory_json(events.accumulator)},
          {"outputs", memory_json(events.output)},
          {"parameters", memory_json(events.parameter)},
          {"dram_read_bits", events.dram_read_bits},
          {"dram_write_bits", events.dram_write_bits}};
}

void add_energy(Json& json, const ReportLayer& layer) {
  if (!layer.energy) return;
  const Energy& energy = layer.energy->energy;
  json["energy"] = energy.total();
  for (std::size_t p = 0; p < kEnergyParts; ++p) {
    json["energy_parts"][std::string(kEnergyPartNames[p])] =
        energy.parts[p] ? Json(*energy.parts[p]) : Json(nullptr);
  }
  json["energy_events"] = events_json(layer.energy->events);
}

double ratio(std::uint64_t value, std::int64_t bound) {
  return static_cast<double>(value) / static_cast<double>(bound);
}

// A layer has at least one MAC, and reads and writes at least one byte; so no bound is 0.
void add_bounds(Json& json, const ReportLayer& layer) {
  if (!layer.bounds) return;
  const LayerBounds& bounds = *layer.bounds;
  const std::uint64_t bytes = layer.dram_read_bytes + layer.dram_write_bytes;
  json["bounds"] = {{"mac_cycles", bounds.mac_cycles},
                    {"bus_cycles", std::max(bounds.read_bus_cycles, bounds.write_bus_cycles)},
                    {"cycles", bounds.cycles},
                    {"dram_bytes", bounds.dram_bytes},
                    {"cycles_ratio", layer.timing ? Json(ratio(layer.timing->cycles, bounds.cycles))
                                                  : Json(nullptr)},
                    {"dram_bytes_ratio", ratio(bytes, bounds.dram_bytes)}};
}

Json cells_json(const CellCounts& counts, bool logic, bool memory, const ReportArea& area) {
  Json json = {{"mm2", area.um2 ? Json(mm2(counts, *area.um2)) : Json(nullptr)}};
  if (logic) {
    json["gates"] = counts.gates;
    json["flip_flops"] = counts.flip_flops;
  }
  if (memory) json["sram_bits"] = counts.sram_bits;
  return json;
}

Json area_json(const ReportArea& area) {
  Json json = {{"table", area.table},
               {"total", cells_json(area.cells.total(), true, true, area)},
               {"extrapolated", area.cells.outside}};
  for (std::size_t p = 0; p < kAreaParts; ++p) {
    const bool logic = p < kLogicParts;
    json["parts"][std::string(kAreaPartNames[p])] =
        cells_json(area.cells.parts[p], logic, !logic, area);
  }
  return json;
}

Json layer_json(const ReportLayer& layer) {
  Json json = {{"name", layer.name},
               {"op", layer.operation},
               {"dataflow", layer.dataflow},
               {"mapping", layer.mapping}};
  if (layer.mapping_fields) json["mapping_fields"] = mapping_json(*layer.mapping_fields);
  add_counts(json, layer);
  add_timing(json, layer);
  add_energy(json, layer);
  add_bounds(json, layer);
  return json;
}

Json unit_json(const ReportUnit& unit) {
  Json json = {{"busy_cycles", unit.busy_cycles}};
  if (unit.name == kUnitNames[static_cast<std::size_t>(Unit::kExecute)]) {
    json["start_cycles"] = unit.start_cycles;
    json["drain_cycles"] = unit.drain_cycles;
  } else {
    json["idle_cycles"] = unit.idle_cycles;
  }
  json["stalls"] = stalls_json(unit.stalls);
  return json;
}

Json total_json(const RunReport& report) {
  Json json = Json::object();
  add_counts(json, report.total);
  json["simulated_seconds"] = report.total.timing ? Json(report.simulated_seconds) : Json(nullptr);
  add_timing(json, report.total);
  add_energy(json, report.total);
  add_bounds(json, report.total);
  for (const ReportUnit& unit : report.units) json["units"][unit.name] = unit_json(unit);
  return json;
}

Json top_json(const std::vector<OutputClass>& top) {
  Json json = Json::array();
  for (const OutputClass& entry : top) {
    json.push_back({{"index", entry.index},
                    {"label", entry.label.empty() ? std::to_string(entry.index) : entry.label},
                    {"probability", entry.probability ? Json(*entry.probability) : Json(nullptr)},
                    {"score", entry.score}});
  }
  return json;
}

Json divergence_json(const Divergence& divergence) {
  Json json = {{"layer", divergence.layer}};
  json["tile"] = divergence.origin ? Json(divergence.origin->tile) : Json(nullptr);
  json["n"] = divergence.n;
  json["y"] = divergence.y;
  json["x"] = divergence.x;
  json["c"] = divergence.c;
  json["expected"] = divergence.expected;
  json["found"] = divergence.found;
  return json;
}

Json host_json(const HostReport& host) {
  Json nodes = Json::array();
  for (const HostNodeReport& node : host.nodes) {
    Json json = {{"name", node.name},
                 {"operation", node.operation},
                 {"operations", node.operations},
                 {"bytes", node.bytes},
                 {"reason", node.reason}};
    if (host.estimate) json["cycles_estimated"] = node.cycles_estimated;
    nodes.push_back(std::move(json));
  }
  Json json = {{"as", host.as},
               {"parts", host.parts},
               {"crossing_bytes", host.crossing_bytes},
               {"seconds", host.seconds}};
  if (host.estimate) {
    json["cycles_estimated"] = host.estimate->host_cycles;
    json["total_cycles_estimated"] = host.estimate->total_cycles;
  }
  json["nodes"] = std::move(nodes);
  return json;
}

Json verify_summary_json(const VerifySummary& verify) {
  const Comparison& comparison = verify.comparison;
  Json json = {{"golden", verify.golden},
               {"values", comparison.values()},
               {"mismatches", comparison.mismatches()}};
  if (comparison.first) json["first_divergence"] = divergence_json(*comparison.first);
  return json;
}

Json snap_json(const SnapError& snap) {
  Json json = {{"layers", Json::array()}};
  for (const SnapDifference& layer : snap.layers) {
    json["layers"].push_back({{"name", layer.layer},
                              {"largest_difference", layer.largest},
                              {"mean_difference", layer.mean},
                              {"values", layer.values},
                              {"changed", layer.changed}});
  }
  json["pictures"] = snap.pictures;
  json["top1_changed"] = snap.top1_changed ? Json(*snap.top1_changed) : Json(nullptr);
  return json;
}

}  // namespace

std::string run_json(const RunReport& report) {
  Json json = {{"schema", "qsim.run/3"},
               {"provenance", provenance_json(report.provenance)},
               {"config", config_json(report.config)},
               {"engine", report.engine}};
  json["layers"] = Json::array();
  for (const ReportLayer& layer : report.layers) json["layers"].push_back(layer_json(layer));
  json["total"] = total_json(report);
  if (report.energy) {
    const std::optional<double>& tops = report.energy->tops_per_watt;
    json["energy"] = {{"table", report.energy->table},
                      {"unit", report.energy->unit},
                      {"tops_per_watt", tops ? Json(*tops) : Json(nullptr)}};
  }
  if (report.area) json["area"] = area_json(*report.area);
  json["wall_seconds"] = report.wall_seconds;
  json["phase_seconds"] = {{"import", report.phases.import},
                           {"compile", report.phases.compile},
                           {"simulate", report.phases.simulate},
                           {"golden", report.phases.golden},
                           {"compare", report.phases.compare}};
  json["output"] = {{"top", top_json(report.top)}};
  if (report.snap) json["snap"] = snap_json(*report.snap);
  if (report.host) json["host"] = host_json(*report.host);
  json["verify"] = report.verify ? verify_summary_json(*report.verify) : Json(nullptr);
  return json_text(json);
}

}  // namespace qsim::report
