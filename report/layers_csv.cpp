#include "report/layers_csv.h"

#include <algorithm>

#include "report/csv_text.h"

namespace qsim::report {
namespace {

constexpr std::array<std::string_view, kLoadMemories> kDestinations = {"activations", "weights",
                                                                       "parameters"};

// Only an engine with time fills these columns.
std::string timing_titles(const LayerTiming& timing) {
  std::string titles;
  for (const Stall& stall : timing.stalls) titles += ",stall_" + stall.semaphore;
  titles += ",limited_by,limiter_busy";
  for (const std::string_view unit : kUnitNames) titles += ",busy_" + std::string(unit);
  for (const std::string_view name : kDestinations) titles += ",read_bus_" + std::string(name);
  for (const std::string_view part : kPathPartNames) titles += ",path_" + std::string(part);
  return titles;
}

std::string timing_cells(const LayerTiming& timing) {
  std::string cells;
  const auto add = [&](std::uint64_t cycles) { cells += "," + std::to_string(cycles); };
  for (const Stall& stall : timing.stalls) add(stall.cycles);
  cells += "," + std::string(timing.limited_by.name) + "," + csv_number(timing.limiter_busy);
  for (const std::uint64_t cycles : timing.busy.units) add(cycles);
  for (const std::uint64_t cycles : timing.busy.loads) add(cycles);
  for (const std::uint64_t cycles : timing.critical_path) add(cycles);
  return cells;
}

// Only a run with an energy table has these columns.
std::string energy_titles() {
  std::string titles = ",energy";
  for (const std::string_view part : kEnergyPartNames) titles += ",energy_" + std::string(part);
  return titles;
}

std::string energy_cells(const Energy& energy) {
  std::string cells = "," + csv_number(energy.total());
  for (const std::optional<double>& part : energy.parts)
    cells += "," + (part ? csv_number(*part) : "");
  return cells;
}

// Only a run whose mappings are known has these columns; they are `bounds` of the JSON.
constexpr std::string_view kBoundTitles =
    ",bound_mac_cycles,bound_bus_cycles,bound_cycles,bound_dram_bytes,bound_cycles_ratio,"
    "bound_dram_bytes_ratio";

std::string csv_of_bounds(const ReportLayer& layer) {
  const LayerBounds& bounds = *layer.bounds;
  std::string cells;
  for (const std::int64_t bound :
       {bounds.mac_cycles, std::max(bounds.read_bus_cycles, bounds.write_bus_cycles), bounds.cycles,
        bounds.dram_bytes}) {
    cells += "," + std::to_string(bound);
  }
  const auto ratio = [](std::uint64_t value, std::int64_t bound) {
    return csv_number(static_cast<double>(value) / static_cast<double>(bound));
  };
  cells += "," + (layer.timing ? ratio(layer.timing->cycles, bounds.cycles) : "");
  return cells + "," + ratio(layer.dram_read_bytes + layer.dram_write_bytes, bounds.dram_bytes);
}

}  // namespace

std::string layers_csv(const RunReport& report) {
  std::string csv =
      "name,op,dataflow,mapping,macs,cycles,utilization,dram_read_bytes,dram_write_bytes,"
      "stream_cycles,fold_bubble_cycles,start_cycles,drain_cycles";
  if (report.total.timing) csv += timing_titles(*report.total.timing);
  if (report.energy) csv += energy_titles();
  if (report.total.bounds) csv += kBoundTitles;
  csv += "\n";
  for (const ReportLayer& layer : report.layers) {
    csv += csv_field(layer.name) + "," + csv_field(layer.operation) + "," + layer.dataflow + "," +
           csv_field(layer.mapping) + "," + std::to_string(layer.macs) + ",";
    if (layer.timing) {
      csv += std::to_string(layer.timing->cycles) + "," + csv_number(layer.timing->utilization);
    } else {
      csv += ",";
    }
    csv += "," + std::to_string(layer.dram_read_bytes) + "," +
           std::to_string(layer.dram_write_bytes) + ",";
    if (layer.timing) {
      csv += std::to_string(layer.timing->stream_cycles) + "," +
             std::to_string(layer.timing->fold_bubble_cycles) + "," +
             std::to_string(layer.timing->start_cycles) + "," +
             std::to_string(layer.timing->drain_cycles) + timing_cells(*layer.timing);
    } else {
      csv += ",,,";
    }
    if (layer.energy) csv += energy_cells(layer.energy->energy);
    if (report.total.bounds) csv += csv_of_bounds(layer);
    csv += "\n";
  }
  return csv;
}

}  // namespace qsim::report
