// The mappings that the mapper chooses from, in two steps: psum tiles, then all else.
// docs/reference/mapper.md writes the space down.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lowering/mapper.h"
#include "compiler/lowering/memory_plan.h"

namespace qsim {

// What gives 1, 2, 3, ... parts of `whole` that are as equal as multiples of `unit` can be; the
// largest first. Each is the size of the largest part.
std::vector<std::int64_t> equal_cuts(std::int64_t whole, std::int64_t unit = 1);

// Calls `visit` for every mapping of the space with psum tiles of `tile_rows` x `tile_cols`, in a
// fixed order. They fit the memories; a few are not valid for another reason (find_fault). kFast
// visits a part of the space.
void for_each_mapping(const LayerGeometry& geometry, const ArchConfig& arch,
                      const MapperOptions& options, std::int64_t tile_rows, std::int64_t tile_cols,
                      const std::function<void(const Mapping&)>& visit);

}  // namespace qsim
