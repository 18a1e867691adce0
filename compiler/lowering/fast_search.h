// The fast search: a bounded number of timings, of the mappings that the bounds rank first.
// docs/reference/mapping.md#the-searches describes it.
#pragma once

#include "compiler/lowering/mapping_timings.h"
#include "compiler/lowering/search_candidates.h"

namespace qsim {

// Both: `tiles` are those of TileSizes, in its order. Counts decide, never the clock, but for the
// options' budget.

// Of Objective::kCycles. Times one mapping at least, if there is one.
void find_fewest_cycles_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                             CandidateSource& source, MappingTimings& timings);

// The least rank of the options' objective. `timings` has a mapping, which bounds this search; of
// Objective::kCycles one with the fewest cycles.
void find_least_rank_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                          CandidateSource& source, MappingTimings& timings);

}  // namespace qsim
