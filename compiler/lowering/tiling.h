// Chooses a layer's mapping: the psum tile and activation chunk with the fewest estimated cycles.
// docs/guide/how_a_layer_is_cut.md explains it.
#pragma once

#include "compiler/lowering/mapping.h"

namespace qsim {

// The sizes that are chosen; the rest of the mapping follows from them.
struct Tiling {
  std::int64_t out_rows = 1;  // ofmap rows and columns of a psum tile
  std::int64_t out_cols = 1;
  std::int64_t act_planes = 1;       // planes of an activation chunk
  std::int64_t act_kernel_rows = 1;  // kernel rows of an activation chunk
  std::int64_t estimated_cycles = 0;
};

// True when one activation chunk serves every column block of a tile, so that it is loaded once.
bool act_is_resident(const LayerGeometry& geometry, const Tiling& tiling);

// The tiling with the fewest estimated cycles. Throws Error (exit code 4) naming the layer when
// not even the smallest tile fits, with what it needs and what there is.
Tiling choose_tiling(const FusedLayer& layer, const LayerGeometry& geometry,
                     const ArchConfig& arch);

// The mapping of a tiling: weight_stationary, one psum tile a pass, chunks as equal as they can be.
Mapping mapping_of(const LayerGeometry& geometry, const Tiling& tiling, const ArchConfig& arch);

}  // namespace qsim
