#include "report/results/profile_csv.h"

#include <algorithm>

#include "report/csv_text.h"

namespace qsim::report {
namespace {

std::string point_cells(const NetworkResult& point, const std::vector<std::string>& fields) {
  std::string cells = csv_field(point.model) + "," + csv_field(point.config) + ",";
  for (const std::string& field : fields) {
    for (const auto& [name, value] : point.set) {
      if (name == field) cells += set_text(value);
    }
    cells += ",";
  }
  return cells + point.dataflow + ",";
}

std::string optional_cell(const std::optional<double>& number) {
  return number ? csv_number(*number) : "";
}

std::string layer_cells(const ResultLayer& layer) {
  std::string cells = csv_field(layer.name) + "," + csv_field(layer.operation) + "," +
                      layer.dataflow + "," + csv_field(layer.mapping);
  for (const std::uint64_t count : {layer.macs, layer.cycles}) cells += "," + std::to_string(count);
  cells += "," + csv_number(layer.utilization);
  for (const std::uint64_t count :
       {layer.dram_read_bytes, layer.dram_write_bytes, layer.stream_cycles, layer.start_cycles}) {
    cells += "," + std::to_string(count);
  }
  return cells + "," + layer.limited_by + "," + csv_number(layer.limiter_busy) + "," +
         optional_cell(layer.energy) + "," + optional_cell(measured(layer, Measure::kEnergyDelay));
}

// Filled for a point's total; empty for a layer.
std::string standing_cells(const NetworkResult& point) {
  return "," + optional_cell(point.tops_per_watt) + "," + optional_cell(point.area_mm2) + "," +
         csv_field(point.area_extrapolated) + "," + optional_cell(point.simulated_seconds) + "," +
         std::to_string(point.pes) + "," + (point.is_on_front ? "yes" : "no");
}

constexpr const char* kLayerTitles =
    "layer,op,dataflow,mapping,macs,cycles,utilization,dram_read_bytes,dram_write_bytes,"
    "stream_cycles,start_cycles,limited_by,limiter_busy,energy,energy_delay,tops_per_watt,area_mm2,"
    "area_extrapolated,simulated_seconds,pes,pareto_front,error";
constexpr std::size_t kLayerColumns = 22;
constexpr const char* kNoStanding = ",,,,,,";

std::string qsim_csv(const Profile& profile) {
  const std::vector<std::string> fields = set_fields(profile);
  std::string csv = "model,config,";
  for (const std::string& field : fields) csv += field + ",";
  csv += std::string("asked_dataflow,") + kLayerTitles + "\n";
  for (const NetworkResult& point : profile.points) {
    const std::string begin = point_cells(point, fields);
    if (!point.ran()) {
      csv += begin + std::string(kLayerColumns - 1, ',') + csv_field(point.error) + "\n";
      continue;
    }
    for (const ResultLayer& layer : point.layers) {
      csv += begin + layer_cells(layer) + kNoStanding + ",\n";
    }
    csv += begin + layer_cells(point.total) + standing_cells(point) + ",\n";
  }
  return csv;
}

// 0 for no cycles.
double ratio(std::uint64_t amount, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(amount) / static_cast<double>(of);
}

std::uint64_t cycles_after_start(const ResultLayer& layer) {
  return layer.cycles - layer.start_cycles;
}

std::string compute_cells(const NetworkResult& point, const ResultLayer& layer) {
  const auto pes = static_cast<std::uint64_t>(point.pes);
  const std::uint64_t cycles = cycles_after_start(layer);
  return std::to_string(layer.cycles) + ", " + std::to_string(cycles) + ", " +
         std::to_string(cycles - layer.stream_cycles) + ", " +
         csv_number(100 * ratio(layer.macs, pes * cycles)) + ", " +
         csv_number(100 * ratio(layer.macs, layer.macs + layer.edge_lane_pe_cycles)) + ", " +
         csv_number(100 * ratio(layer.macs, pes * layer.stream_cycles));
}

std::vector<const AccessWindow*> windows_of(const OperandAccesses& accesses) {
  return {&accesses.sram_ifmap, &accesses.sram_weights, &accesses.sram_psums,
          &accesses.dram_ifmap, &accesses.dram_weights, &accesses.dram_ofmap};
}

std::string bandwidth_cells(const ResultLayer& layer) {
  constexpr std::size_t kScratchpads = 3;
  const std::vector<const AccessWindow*> windows = windows_of(*layer.accesses);
  std::string cells;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const AccessWindow& window = *windows[i];
    const std::uint64_t cycles =
        i < kScratchpads ? cycles_after_start(layer) : window.last_cycle - window.first_cycle + 1;
    cells += (i == 0 ? "" : ", ") + csv_number(ratio(window.elems, cycles));
  }
  return cells;
}

std::string access_cells(const ResultLayer& layer) {
  std::string cells;
  for (const AccessWindow* window : windows_of(*layer.accesses)) {
    cells += (cells.empty() ? "" : ", ") + std::to_string(window->first_cycle) + ", " +
             std::to_string(window->last_cycle) + ", " + std::to_string(window->elems);
  }
  return cells;
}

const char* scalesim_titles(ProfileColumns columns) {
  if (columns == ProfileColumns::kScaleSimCompute) {
    return "LayerID, Total Cycles (incl. prefetch), Total Cycles, Stall Cycles, Overall Util %, "
           "Mapping Efficiency %, Compute Util %,";
  }
  if (columns == ProfileColumns::kScaleSimBandwidth) {
    return "LayerID, Avg IFMAP SRAM BW, Avg FILTER SRAM BW, Avg OFMAP SRAM BW, Avg IFMAP DRAM BW, "
           "Avg FILTER DRAM BW, Avg OFMAP DRAM BW,";
  }
  return "LayerID, SRAM IFMAP Start Cycle, SRAM IFMAP Stop Cycle, SRAM IFMAP Reads, "
         "SRAM Filter Start Cycle, SRAM Filter Stop Cycle, SRAM Filter Reads, "
         "SRAM OFMAP Start Cycle, SRAM OFMAP Stop Cycle, SRAM OFMAP Writes, "
         "DRAM IFMAP Start Cycle, DRAM IFMAP Stop Cycle, DRAM IFMAP Reads, "
         "DRAM Filter Start Cycle, DRAM Filter Stop Cycle, DRAM Filter Reads, "
         "DRAM OFMAP Start Cycle, DRAM OFMAP Stop Cycle, DRAM OFMAP Writes,";
}

std::string scalesim_cells(const NetworkResult& point, const ResultLayer& layer,
                           ProfileColumns columns) {
  if (columns == ProfileColumns::kScaleSimCompute) return compute_cells(point, layer);
  QSIM_CHECK(layer.accesses.has_value(), "a profile has the accesses of its layers");
  if (columns == ProfileColumns::kScaleSimBandwidth) return bandwidth_cells(layer);
  return access_cells(layer);
}

std::string scalesim_csv(const Profile& profile, ProfileColumns columns) {
  const bool is_one = profile.points.size() == 1;
  std::string csv = std::string(is_one ? "" : "Run, ") + scalesim_titles(columns) + "\n";
  for (const NetworkResult& point : profile.points) {
    const std::string run = is_one ? "" : csv_field(full_label(point)) + ", ";
    for (std::size_t i = 0; i < point.layers.size(); ++i) {
      csv +=
          run + std::to_string(i) + ", " + scalesim_cells(point, point.layers[i], columns) + ",\n";
    }
  }
  return csv;
}

}  // namespace

std::string profile_csv(const Profile& profile, ProfileColumns columns) {
  return columns == ProfileColumns::kQsim ? qsim_csv(profile) : scalesim_csv(profile, columns);
}

}  // namespace qsim::report
