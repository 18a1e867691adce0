// configs/energy/*.yaml: the energy of each kind of event and the area of each kind of cell, with
// the source of each number.
#pragma once

#include <filesystem>

#include "core/machine/energy_table.h"

namespace qsim::formats {

// Reads an energy table. Its name is the file's stem. Throws Error with file:line:column for an
// unknown or missing key, for an energy, area, size or number of bits that is not above 0, and for
// a number without a source. docs/reference/energy.md lists the keys.
EnergyTable load_energy_table(const std::filesystem::path& path);

}  // namespace qsim::formats
