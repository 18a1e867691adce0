// What a run's energy says of the accelerator. core/energy.h has the energy itself.
#pragma once

#include <optional>

#include "analysis/energy_events.h"
#include "core/energy.h"

namespace qsim {

// Operations (a MAC is two) a second for each watt, in 10^12: 2 useful MACs / pJ. Absent for
// another unit and for no energy.
std::optional<double> tops_per_watt(const EnergyEvents& events, const Energy& energy,
                                    const EnergyTable& table);

}  // namespace qsim
