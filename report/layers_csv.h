// The layers of a run as a table for spreadsheets: RFC 4180, one header line, one line a layer.
#pragma once

#include <string>

#include "report/run_report.h"

namespace qsim::report {

// name, op, dataflow, mapping, macs, cycles, utilization, dram_read_bytes, dram_write_bytes,
// stream_cycles, fold_bubble_cycles, start_cycles, drain_cycles; with time then
// stall_<semaphore> of each semaphore, limited_by, limiter_busy, busy_<unit>,
// read_bus_<destination>, path_<part>; with an energy table then energy, energy_<part>; where the
// report has bounds then bound_mac_cycles, bound_bus_cycles, bound_cycles, bound_dram_bytes,
// bound_cycles_ratio, bound_dram_bytes_ratio. Cells of an engine without time are empty. Lines end
// with "\n".
std::string layers_csv(const RunReport& report);

}  // namespace qsim::report
