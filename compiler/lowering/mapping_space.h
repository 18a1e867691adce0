// The mappings that the mapper chooses from, in three steps: psum tiles, chunks and their order,
// slots. docs/reference/mapping.md writes the space down.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lowering/chunk_counts.h"
#include "compiler/lowering/mapper.h"
#include "compiler/lowering/memory_plan.h"

namespace qsim::compiler {

// What gives 1, 2, 3, ... parts of `whole` that are as equal as multiples of `unit` can be; the
// largest first. Each is the size of the largest part.
std::vector<std::int64_t> equal_cuts(std::int64_t whole, std::int64_t unit = 1);

// Column blocks of one EXECUTE: 1; of input_stationary also 2, 4, ... and all.
std::vector<std::int64_t> block_counts(const LayerGeometry& geometry, Dataflow dataflow);

// How many slots of each scratchpad a chunking needs, and how many the scratchpad holds.
struct SlotLimits {
  std::int64_t least_acts = 1;
  std::int64_t most_acts = 1;
  std::int64_t least_weights = 1;
  std::int64_t most_weights = 1;
};

// A mapping but for its slots and the order of its LOADs. The mapping has the most slots, and
// LOADs in the order of need.
struct Chunking {
  Mapping mapping;
  ChunkCounts chunks;
  SlotLimits slots;
};

// Calls `visit` for every chunking of the space with psum tiles of `tile_rows` x `tile_cols`, in a
// fixed order. They fit the memories; a few exceed what a command can count (find_fault). kFast
// visits a part of the space.
void for_each_chunking(const LayerGeometry& geometry, const ArchConfig& arch,
                       const MapperOptions& options, std::int64_t tile_rows, std::int64_t tile_cols,
                       const std::function<void(const Chunking&)>& visit);

// The mappings of a chunking: those that differ in slots and in the order of LOADs.
std::vector<Mapping> mappings_of(const Chunking& chunking, MappingSearch search);

}  // namespace qsim::compiler
