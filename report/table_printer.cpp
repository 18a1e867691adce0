#include "report/table_printer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "report/energy_text.h"
#include "report/run_report.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

// The difference that --snap makes, as people read it.
std::string real_text(double number) { return number_text(number, "%.4g"); }

std::string changed_text(const SnapDifference& difference) {
  return percent(static_cast<double>(difference.changed) / static_cast<double>(difference.values));
}

// A table of the layers, and a sentence on the output.
std::string snap_text(const SnapError& snap) {
  TextTable table;
  table.columns = {{"with --snap", false, true},
                   {"largest difference", true, false},
                   {"mean difference", true, false},
                   {"bytes changed", true, false}};
  for (const SnapDifference& layer : snap.layers) {
    table.rows.push_back(
        {layer.layer, real_text(layer.largest), real_text(layer.mean), changed_text(layer)});
  }
  const SnapDifference& output = snap.layers.back();
  std::string text = layout(table) + "the output differs by at most " + real_text(output.largest) +
                     ", in the mean by " + real_text(output.mean) + "; " + changed_text(output) +
                     " of its bytes change";
  if (snap.top1_changed) {
    text += "; the best class changes for " + std::to_string(*snap.top1_changed) + " of " +
            std::to_string(snap.pictures) + " pictures";
  }
  return text + "\n";
}

std::vector<std::string> layer_cells(const ReportLayer& layer) {
  return {layer.name, layer.operation, layer.mapping, with_thousands(layer.macs)};
}

// The share of one part of the array's time; "-": no such part.
std::string share_cell(const LayerTiming& timing, const std::string& id) {
  const std::vector<ArrayTimePart>& parts = timing.array_time;
  const auto it = std::find_if(parts.begin(), parts.end(),
                               [&](const ArrayTimePart& part) { return part.id == id; });
  if (it == parts.end()) return "-";
  return tenths_text(tenths_of_percent(parts)[static_cast<std::size_t>(it - parts.begin())]);
}

double share_of(std::uint64_t cycles, std::uint64_t total) {
  return total == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(total);
}

std::vector<std::string> cost_cells(const RunReport& report, const ReportLayer& layer) {
  std::vector<std::string> cells = {layer.name};
  if (layer.timing) {
    const LayerTiming& timing = *layer.timing;
    cells.insert(cells.end(), {with_thousands(timing.cycles),
                               percent(share_of(timing.cycles, report.total.timing->cycles)),
                               percent(timing.utilization), share_cell(timing, "edge_lanes"),
                               share_cell(timing, "fold_bubbles")});
  } else {
    cells.insert(cells.end(), 5, "-");
  }
  cells.push_back(megabytes(layer.dram_read_bytes));
  cells.push_back(megabytes(layer.dram_write_bytes));
  if (report.energy) {
    cells.push_back(layer.energy ? energy_number(layer.energy->energy.total()) : "-");
  }
  cells.push_back(layer.timing ? limited_by_text(*layer.timing) : "-");
  return cells;
}

// "write_bus" -> "write bus".
std::string spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// The number with two decimal places.
std::string hundredths_text(double value) { return number_text(value, "%.2f"); }

std::string joules_text(double joules) {
  struct Scale {
    double least;
    const char* unit;
  };
  for (const auto& [least, unit] :
       {Scale{1, " J"}, Scale{1e-3, " mJ"}, Scale{1e-6, " uJ"}, Scale{1e-9, " nJ"}}) {
    if (joules >= least) return hundredths_text(joules / least) + unit;
  }
  return hundredths_text(joules / 1e-12) + " pJ";
}

std::vector<std::string> bound_cells(const ReportLayer& layer) {
  const LayerBounds& bounds = *layer.bounds;
  const std::uint64_t bytes = layer.dram_read_bytes + layer.dram_write_bytes;
  const auto times = [](std::uint64_t value, std::int64_t bound) {
    return hundredths_text(static_cast<double>(value) / static_cast<double>(bound));
  };
  return {layer.name,
          layer.timing ? with_thousands(layer.timing->cycles) : "-",
          with_thousands(bounds.mac_cycles),
          with_thousands(std::max(bounds.read_bus_cycles, bounds.write_bus_cycles)),
          with_thousands(bounds.cycles),
          layer.timing ? times(layer.timing->cycles, bounds.cycles) : "-",
          megabytes(bytes),
          megabytes(static_cast<std::uint64_t>(bounds.dram_bytes)),
          times(bytes, bounds.dram_bytes)};
}

}  // namespace

std::string limited_by_text(const LayerTiming& timing) {
  return spaced(timing.limited_by.name) + " " + percent(timing.limiter_busy);
}

void print_layers(const RunReport& report, std::ostream& out) {
  TextTable table;
  table.columns = {
      {"layer"}, {"operation", false, true}, {"mapping", false, false}, {"MACs", true, false}};
  for (const ReportLayer& layer : report.layers) table.rows.push_back(layer_cells(layer));
  table.rows.push_back(layer_cells(report.total));
  out << layout(table);
}

void print_costs(const RunReport& report, std::ostream& out) {
  TextTable table;
  table.columns = {{"layer"},
                   {"cycles", true, false},
                   {"share", true, false},
                   {"util", true, false},
                   {"lanes", true, false},
                   {"bubbles", true, false},
                   {"read MB", true, false},
                   {"write MB", true, false}};
  if (report.energy) table.columns.push_back({energy_heading(report.energy->unit), true, false});
  table.columns.push_back({"limited by", false, false});
  for (const ReportLayer& layer : report.layers) table.rows.push_back(cost_cells(report, layer));
  table.rows.push_back(cost_cells(report, report.total));
  out << layout(table);
}

void print_bounds(const RunReport& report, std::ostream& out) {
  if (!report.total.bounds) return;
  TextTable table;
  table.columns = {{"layer"}};
  for (const char* title :
       {"cycles", "MACs/PEs", "bus", "larger", "times", "MB", "MB once", "times"}) {
    table.columns.push_back({title, true, false});
  }
  for (const ReportLayer& layer : report.layers) table.rows.push_back(bound_cells(layer));
  table.rows.push_back(bound_cells(report.total));
  out << "lower bounds, and how many times as much each layer takes\n" << layout(table);
}

void print_where_the_cycles_went(const RunReport& report, std::ostream& out) {
  if (!report.total.timing || report.total.timing->cycles == 0) return;
  const std::vector<ArrayTimePart>& parts = report.total.timing->array_time;
  const std::vector<std::int64_t> tenths = tenths_of_percent(parts);
  const std::int64_t pes = report.config.array_rows * report.config.array_cols;
  out << "where the cycles went (" << with_thousands(pes) << " PEs x "
      << with_thousands(report.total.timing->cycles) << " cycles = 100%)\n";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string share = tenths_text(tenths[i]);
    out << std::string(8 - share.size(), ' ') << share << "  " << parts[i].label << '\n';
  }
}

void print_energy(const RunReport& report, std::ostream& out) {
  if (!report.energy || !report.total.energy) return;
  const Energy& energy = report.total.energy->energy;
  const bool picojoules = report.energy->unit == kPicojoules;
  const auto amount = [&](double value) {
    return picojoules ? joules_text(value * 1e-12)
                      : with_thousands(static_cast<std::uint64_t>(std::llround(value)));
  };
  out << "energy by " << echoed(report.energy->table) << ": " << amount(energy.total());
  if (!picojoules) out << " times " << echoed(report.energy->unit);
  if (const std::optional<double>& tops = report.energy->tops_per_watt) {
    out << ", " << hundredths_text(*tops) << " TOPS/W";
  }
  out << '\n';
  std::string missing;
  for (std::size_t p = 0; p < kEnergyParts; ++p) {
    const std::optional<double>& part = energy.parts[p];
    const std::string label = spaced(kEnergyPartNames[p]);
    if (!part) {
      missing += (missing.empty() ? "" : ", ") + label;
      continue;
    }
    const std::string share = percent(energy.total() > 0 ? *part / energy.total() : 0);
    out << std::string(8 - share.size(), ' ') << share << "  " << label << ": " << amount(*part)
        << '\n';
  }
  if (!missing.empty()) out << "not in the table, so not counted: " << missing << '\n';
}

void print_area(const RunReport& report, std::ostream& out) {
  if (!report.area || !report.area->um2) return;
  const AreaReport& cells = report.area->cells;
  const double total = total_mm2(cells, *report.area->um2);
  const auto amount = [](double area) { return number_text(area, "%.3f mm2"); };
  out << "area of cells by " << echoed(report.area->table) << ": " << amount(total) << '\n';
  for (std::size_t p = 0; p < kAreaParts; ++p) {
    const double part = mm2(cells.parts[p], *report.area->um2);
    const std::string share = percent(part / total);
    out << std::string(8 - share.size(), ' ') << share << "  " << amount(part) << "  "
        << spaced(kAreaPartNames[p]) << '\n';
  }
  if (!cells.outside.empty()) out << "extrapolated: " << cells.outside << '\n';
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

void print_host(const RunReport& report, std::ostream& out) {
  if (!report.host) return;
  const HostReport& host = *report.host;
  struct Row {
    std::int64_t nodes = 0, operations = 0, bytes = 0, cycles = 0;
    std::string reason;
  };
  std::map<std::string, Row> rows;
  Row total;
  for (const HostNodeReport& node : host.nodes) {
    for (Row* row : {&rows[node.operation], &total}) {
      if (row->nodes++ == 0) row->reason = node.reason;
      row->operations += node.operations;
      row->bytes += node.bytes;
      row->cycles += node.cycles_estimated;
    }
  }
  total.reason.clear();
  TextTable table{{{"on the host"},
                   {"nodes", true},
                   {"operations", true},
                   {"bytes", true},
                   {"why, of the first"}},
                  {}};
  if (host.estimate) table.columns.insert(table.columns.end() - 1, {"est. cycles", true});
  const auto add = [&](const std::string& name, const Row& row) {
    std::vector<std::string> cells = {name, with_thousands(row.nodes),
                                      with_thousands(row.operations), with_thousands(row.bytes)};
    if (host.estimate) cells.push_back(with_thousands(row.cycles));
    cells.push_back(row.reason);
    table.rows.push_back(std::move(cells));
  };
  for (const auto& [name, row] : rows) add(name, row);
  add("total", total);
  out << layout(table) << "the array runs " << with_thousands(host.parts)
      << (host.parts == 1 ? " part" : " parts") << "; " << with_thousands(host.crossing_bytes)
      << " bytes cross between it and the host; cycles are the array's alone\n";
  if (!host.estimate) return;
  const HostEstimate& estimate = *host.estimate;
  const double seconds = static_cast<double>(estimate.total_cycles) /
                         (1e6 * static_cast<double>(report.config.clock_mhz));
  out << "estimate: host and array take " << with_thousands(estimate.total_cycles) << " cycles, "
      << seconds_text(seconds) << ", "
      << (estimate.overlap ? "at the same time where they can" : "one after the other") << '\n';
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
      << config.array_rows << "x" << config.array_cols << " PEs), engine " << report.engine;
  if (report.host) out << ", parts of it on a host, as " << report.host->as;
  out << "\n\n";
  if (report.layers.empty()) {
    print_host(report, out);
    return print_verify_line(report, out);
  }
  print_layers(report, out);
  out << '\n';
  print_costs(report, out);
  out << '\n';
  if (report.prints_bounds) {
    print_bounds(report, out);
    out << '\n';
  }
  print_where_the_cycles_went(report, out);
  if (report.energy) out << '\n';
  print_energy(report, out);
  if (report.area && report.area->um2) out << '\n';
  print_area(report, out);
  if (report.total.timing) {
    out << "\nsimulated time " << seconds_text(report.simulated_seconds) << " at "
        << config.clock_mhz << " MHz; the simulation took " << seconds_text(report.wall_seconds)
        << '\n';
  }
  if (report.snap) out << '\n' << snap_text(*report.snap);
  if (report.host) out << '\n';
  print_host(report, out);
  print_classes(report, out);
  print_verify_line(report, out);
}

}  // namespace qsim::report
