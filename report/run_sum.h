// Runs of independent networks as one report: a list of layers that were run one after the other.
#pragma once

#include "report/run_report.h"

namespace qsim::report {

// Adds the layers of `run` to `sum`, and to its total, units and seconds what is counted in `run`.
// Both are of one config and engine; an empty `sum` takes those of `run`. Times add up because each
// network starts on an idle accelerator. The energy of the total is not a sum over layers:
// sum_energy() computes it.
void add_run(RunReport& sum, const RunReport& run);

// Fills area, and the energy of the total from the events that add_run has summed.
void sum_energy(RunReport& sum, const EnergyTable& table);

}  // namespace qsim::report
