// The full search: the best mapping of the whole space. docs/reference/mapping.md#the-searches says
// why it is.
#pragma once

#include "compiler/lowering/mapping_timings.h"
#include "compiler/lowering/search_candidates.h"

namespace qsim {

// Times mappings until the best of them is the best of the space, or until timings.is_over().
// `tiles` are those of TileSizes, in its order. What `timings` has
// already bounds the search from its begin on.
void run_full_search(const std::vector<TileSize>& tiles, const MapperOptions& options,
                     CandidateSource& source, MappingTimings& timings);

}  // namespace qsim
