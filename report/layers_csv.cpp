#include "report/layers_csv.h"

#include <cstdio>

#include "core/printable.h"

namespace qsim {
namespace {

// A name on one line, quoted where CSV wants it.
std::string csv_field(const std::string& name) {
  const std::string text = printable(name);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string exact(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6f", value);
  return buffer;
}

}  // namespace

std::string layers_csv(const RunReport& report) {
  std::string csv =
      "name,op,dataflow,mapping,macs,cycles,utilization,dram_read_bytes,dram_write_bytes,"
      "stream_cycles,fold_bubble_cycles,start_cycles,drain_cycles";
  if (report.total.timing) {
    for (const Stall& stall : report.total.timing->stalls) csv += ",stall_" + stall.semaphore;
  }
  csv += "\n";
  for (const ReportLayer& layer : report.layers) {
    csv += csv_field(layer.name) + "," + csv_field(layer.operation) + "," + layer.dataflow + "," +
           csv_field(layer.mapping) + "," + std::to_string(layer.macs) + ",";
    if (layer.timing) {
      csv += std::to_string(layer.timing->cycles) + "," + exact(layer.timing->utilization);
    } else {
      csv += ",";
    }
    csv += "," + std::to_string(layer.dram_read_bytes) + "," +
           std::to_string(layer.dram_write_bytes) + ",";
    if (layer.timing) {
      csv += std::to_string(layer.timing->stream_cycles) + "," +
             std::to_string(layer.timing->fold_bubble_cycles) + "," +
             std::to_string(layer.timing->start_cycles) + "," +
             std::to_string(layer.timing->drain_cycles);
      for (const Stall& stall : layer.timing->stalls) csv += "," + std::to_string(stall.cycles);
    } else {
      csv += ",,,";
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace qsim
