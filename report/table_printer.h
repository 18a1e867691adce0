// A run for people: how each layer runs and what it costs, where the cycles went, what the network
// saw, and whether the bytes agree.
#pragma once

#include <ostream>

#include "report/run_report.h"

namespace qsim::report {

// The parts below, in this order, with a heading; print_bounds() where prints_bounds.
void print_run(const RunReport& report, std::ostream& out);

// Per layer: operation, mapping, MACs; totals last. Only names of layers are cut
// where a table would be too wide.
void print_layers(const RunReport& report, std::ostream& out);

// Per layer: cycles and their share of the run, utilization, idle lanes ("lanes") and bubbles of
// the array's time, DRAM bytes, the energy if it is known, limited_by_text; totals last. "-" for
// what an engine without time does not say.
void print_costs(const RunReport& report, std::ostream& out);

// Per layer: cycles and DRAM bytes, what no mapping does better (LayerBounds), and how many times
// as much it is; totals last, of which `larger` is the sum of the layers' larger bounds. Prints
// nothing without bounds.
void print_bounds(const RunReport& report, std::ostream& out);

// "write bus 99.6%": LayerTiming::limited_by and limiter_busy.
std::string limited_by_text(const LayerTiming& timing);

// The array's time over the whole run, in percent that add up to 100.0. Prints nothing for an
// engine without time.
void print_where_the_cycles_went(const RunReport& report, std::ostream& out);

// The energy of the whole run by part, in percent and in the table's unit; TOPS/W for a table in
// pJ; the parts that the table has no number for. Prints nothing without an energy table.
void print_energy(const RunReport& report, std::ostream& out);

// The area by part, in percent and mm2, and what of the configuration is beyond what was counted.
// Prints nothing without a table that has areas of cells.
void print_area(const RunReport& report, std::ostream& out);

// "chelsea-32x32: cat 97.3%, dog 1.2%"; without a scale the raw values, "workload: class 3: 255,
// class 7: 12"; nothing when the output has no classes.
void print_classes(const RunReport& report, std::ostream& out);

// What the host does, by operator, and the bytes that cross between it and the array. Prints
// nothing of a network without one.
void print_host(const RunReport& report, std::ostream& out);

// "verify: golden cpu, 1,234 values, 0 mismatches", then the first divergence if there is one.
void print_verify_line(const RunReport& report, std::ostream& out);

}  // namespace qsim::report
