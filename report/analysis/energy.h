// What a run's energy says of the accelerator. core/machine/energy.h has the energy itself.
#pragma once

#include <optional>

#include "core/machine/energy.h"
#include "report/analysis/energy_events.h"

namespace qsim::report {

// Operations (a MAC is two) a second for each watt, in 10^12: 2 useful MACs / pJ. Absent for
// another unit and for no energy.
std::optional<double> tops_per_watt(const EnergyEvents& events, const Energy& energy,
                                    const EnergyTable& table);

}  // namespace qsim::report
