// The run as JSON, schema "qsim.run/3" (docs/reference/output.md). Scripts rely on the names:
// fields are added, never renamed. Two runs of the same command differ in nothing but times.
#pragma once

#include <string>

#include "report/run_report.h"

namespace qsim::report {

// Two spaces of indentation, a newline at the end. Without time `cycles`, `utilization` and
// `simulated_seconds` are null and `stalls` is empty; `verify` is null when nothing was compared.
std::string run_json(const RunReport& report);

}  // namespace qsim::report
