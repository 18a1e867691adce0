// A run for people: one row a layer, where the cycles went, what the network saw, and whether the
// bytes agree.
#pragma once

#include <ostream>

#include "report/run_report.h"

namespace qsim {

// The four parts below, in this order, with a heading.
void print_run(const RunReport& report, std::ostream& out);

// Per layer: operation (short_operation), mapping, MACs, cycles, utilization, DRAM bytes; totals
// last. Only names of layers are cut where the table would be too wide.
void print_layers(const RunReport& report, std::ostream& out);

// The array's time over the whole run and per layer, in percent that add up to 100.0. Prints
// nothing for an engine without time.
void print_where_the_cycles_went(const RunReport& report, std::ostream& out);

// "chelsea-32x32: cat 97.3%, dog 1.2%"; without a scale the raw values, "workload: class 3: 255,
// class 7: 12"; nothing when the output has no classes.
void print_classes(const RunReport& report, std::ostream& out);

// "verify: golden cpu, 1,234 values, 0 mismatches", then the first divergence if there is one.
void print_verify_line(const RunReport& report, std::ostream& out);

}  // namespace qsim
