#include "report/table_printer.h"

#include <algorithm>

#include "core/printable.h"
#include "report/text_table.h"

namespace qsim {
namespace {

std::vector<std::string> layer_cells(const ReportLayer& layer) {
  std::vector<std::string> cells = {layer.name, short_operation(layer.operation), layer.mapping,
                                    with_thousands(layer.macs)};
  if (layer.timing) {
    cells.push_back(with_thousands(layer.timing->cycles));
    cells.push_back(percent(layer.timing->utilization));
  } else {
    cells.insert(cells.end(), {"-", "-"});
  }
  cells.push_back(with_thousands(layer.dram_read_bytes + layer.dram_write_bytes));
  return cells;
}

// The share of each of `kinds` in one layer; "-": no such part.
std::vector<std::string> share_cells(const ReportLayer& layer,
                                     const std::vector<ArrayTimePart>& kinds) {
  const std::vector<ArrayTimePart>& parts = layer.timing->array_time;
  const std::vector<std::int64_t> tenths = tenths_of_percent(parts);
  std::vector<std::string> cells = {layer.name};
  for (const ArrayTimePart& kind : kinds) {
    const auto it = std::find_if(parts.begin(), parts.end(),
                                 [&](const ArrayTimePart& part) { return part.id == kind.id; });
    cells.push_back(it == parts.end()
                        ? "-"
                        : tenths_text(tenths[static_cast<std::size_t>(it - parts.begin())]));
  }
  return cells;
}

}  // namespace

void print_layers(const RunReport& report, std::ostream& out) {
  TextTable table;
  table.columns = {{"layer"},
                   {"operation", false, false},
                   {"mapping", false, false},
                   {"MACs", true, false},
                   {"cycles", true, false},
                   {"util", true, false},
                   {"DRAM bytes", true, false}};
  for (const ReportLayer& layer : report.layers) table.rows.push_back(layer_cells(layer));
  table.rows.push_back(layer_cells(report.total));
  out << layout(table);
}

void print_where_the_cycles_went(const RunReport& report, std::ostream& out) {
  if (!report.total.timing || report.total.timing->cycles == 0) return;
  const std::vector<ArrayTimePart>& kinds = report.total.timing->array_time;
  const std::vector<std::int64_t> tenths = tenths_of_percent(kinds);
  const std::int64_t pes = report.config.array_rows * report.config.array_cols;
  out << "where the cycles went (" << with_thousands(pes) << " PEs x "
      << with_thousands(report.total.timing->cycles) << " cycles = 100%)\n";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string share = tenths_text(tenths[i]);
    out << std::string(8 - share.size(), ' ') << share << "  " << kinds[i].label;
    if (kinds[i].title != kinds[i].id) out << " (" << kinds[i].title << ")";
    out << '\n';
  }
  TextTable table;
  table.columns.push_back({"layer"});
  for (const ArrayTimePart& kind : kinds) table.columns.push_back({kind.title, true, false});
  for (const ReportLayer& layer : report.layers) table.rows.push_back(share_cells(layer, kinds));
  table.rows.push_back(share_cells(report.total, kinds));
  out << '\n' << layout(table);
}

void print_classes(const RunReport& report, std::ostream& out) {
  if (report.top.empty()) return;
  out << (report.provenance.input.empty() ? "output" : echoed(report.provenance.input)) << ':';
  for (std::size_t i = 0; i < report.top.size(); ++i) {
    const OutputClass& entry = report.top[i];
    const std::string label =
        entry.label.empty() ? "class " + std::to_string(entry.index) : echoed(entry.label);
    const std::string value = entry.probability
                                  ? " " + percent(*entry.probability)
                                  : ": " + std::to_string(static_cast<std::int64_t>(entry.score));
    out << (i == 0 ? " " : ", ") << label << value;
  }
  out << '\n';
}

void print_verify_line(const RunReport& report, std::ostream& out) {
  if (!report.verify) {
    out << "verify: not compared\n";
    return;
  }
  const Comparison& comparison = report.verify->comparison;
  out << "verify: golden " << report.verify->golden << ", " << with_thousands(comparison.values())
      << " values, " << with_thousands(comparison.mismatches()) << " mismatches\n";
  if (comparison.first) out << "first divergence: " << divergence_text(*comparison.first) << '\n';
}

void print_run(const RunReport& report, std::ostream& out) {
  const ArchConfig& config = report.config;
  out << echoed(report.provenance.model) << " on " << echoed(config.name) << " ("
      << config.array_rows << "x" << config.array_cols << " PEs), engine " << report.engine
      << "\n\n";
  print_layers(report, out);
  out << '\n';
  print_where_the_cycles_went(report, out);
  if (report.total.timing) {
    out << "\nsimulated time " << seconds_text(report.simulated_seconds) << " at "
        << config.clock_mhz << " MHz; the simulation took " << seconds_text(report.wall_seconds)
        << '\n';
  }
  print_classes(report, out);
  print_verify_line(report, out);
}

}  // namespace qsim
