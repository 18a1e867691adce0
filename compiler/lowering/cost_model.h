// Estimated cycles of one tiling, for choosing between tilings only: the engines count the real
// ones. The slowest unit's work, plus what cannot overlap at the layer's ends.
#pragma once

#include "compiler/lowering/tiling.h"

namespace qsim {

std::int64_t estimate_cycles(const LayerGeometry& geometry, const Tiling& tiling,
                             const ArchConfig& arch);

}  // namespace qsim
