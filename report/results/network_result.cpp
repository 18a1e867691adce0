#include "report/results/network_result.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest_name.h"
#include "core/machine/mapping.h"

namespace qsim::report {
namespace {

std::uint64_t edge_lanes(const LayerTiming& timing) {
  const auto found =
      std::find_if(timing.array_time.begin(), timing.array_time.end(),
                   [](const ArrayTimePart& part) { return part.id == "edge_lanes"; });
  return found == timing.array_time.end() ? 0 : found->pe_cycles;
}

ResultLayer result_layer(const ReportLayer& layer) {
  QSIM_CHECK(layer.timing.has_value(), layer.name + ": a result has times");
  const LayerTiming& timing = *layer.timing;
  ResultLayer result;
  result.name = layer.name;
  result.operation = layer.operation;
  result.dataflow = layer.dataflow;
  result.mapping = layer.mapping;
  result.macs = layer.macs;
  result.cycles = timing.cycles;
  result.utilization = timing.utilization;
  result.dram_read_bytes = layer.dram_read_bytes;
  result.dram_write_bytes = layer.dram_write_bytes;
  result.stream_cycles = timing.stream_cycles;
  result.start_cycles = timing.start_cycles;
  result.edge_lane_pe_cycles = edge_lanes(timing);
  result.limited_by = timing.limited_by.name;
  result.limiter_busy = timing.limiter_busy;
  result.critical_path = timing.critical_path;
  if (layer.energy) result.energy = layer.energy->energy.total();
  return result;
}

}  // namespace

std::string set_text(const SetValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
}

std::string point_label(const NetworkResult& result) {
  std::string label = result.config;
  for (const auto& [field, value] : result.set) label += ", " + field + " " + set_text(value);
  return label + ", " + result.dataflow;
}

std::string full_label(const NetworkResult& result) {
  return result.model + " on " + point_label(result);
}

std::string nearest_results(const std::string& label, const std::vector<NetworkResult>& results) {
  std::vector<std::string> labels;
  for (const NetworkResult& result : results) labels.push_back(full_label(result));
  const std::vector<std::string_view> names(labels.begin(), labels.end());
  return nearest_names(label, names);
}

bool same_point(const NetworkResult& a, const NetworkResult& b) {
  return a.model == b.model && a.config == b.config && a.set == b.set && a.dataflow == b.dataflow;
}

std::string short_dataflow(const std::string& name) {
  const std::optional<Dataflow> dataflow = dataflow_named(name);
  return dataflow ? std::string(short_name(*dataflow)) : name;
}

std::string common_dataflow(const std::vector<ResultLayer>& layers) {
  std::string dataflow;
  for (const ResultLayer& layer : layers) {
    if (layer.dataflow.empty()) continue;
    if (!dataflow.empty() && layer.dataflow != dataflow) return "mixed";
    dataflow = layer.dataflow;
  }
  return dataflow;
}

double seconds_of(const NetworkResult& result, const ArchConfig& arch) {
  return static_cast<double>(result.total.cycles) / (static_cast<double>(arch.clock_mhz) * 1e6);
}

bool clocks_differ(const NetworkResult& a, const NetworkResult& b) {
  constexpr double kRounding = 1e-9;
  if (!a.simulated_seconds || !b.simulated_seconds) return false;
  const double first = *a.simulated_seconds * static_cast<double>(b.total.cycles);
  const double second = *b.simulated_seconds * static_cast<double>(a.total.cycles);
  return std::abs(first - second) > kRounding * first;
}

void fill_result(NetworkResult& result, const RunReport& report,
                 const std::vector<OperandAccesses>& accesses) {
  QSIM_CHECK(accesses.empty() || accesses.size() == report.layers.size(),
             "accesses are of other layers");
  result.pes = report.config.array_rows * report.config.array_cols;
  for (const ReportLayer& layer : report.layers) result.layers.push_back(result_layer(layer));
  for (std::size_t i = 0; i < accesses.size(); ++i) result.layers[i].accesses = accesses[i];
  result.total = result_layer(report.total);
  result.total.name = "total";
  result.total.dataflow = common_dataflow(result.layers);
  result.simulated_seconds = seconds_of(result, report.config);
  if (report.energy) {
    result.energy_table = report.energy->table;
    result.energy_unit = report.energy->unit;
    result.tops_per_watt = report.energy->tops_per_watt;
  }
  if (report.area && report.area->um2) {
    result.area_mm2 = total_mm2(report.area->cells, *report.area->um2);
    result.area_extrapolated = report.area->cells.outside;
  }
}

}  // namespace qsim::report
