// How a layer is cut so that its pieces fit the on-chip memories: tiles of the ofmap, chunks of the
// reduction. Chosen for the fewest estimated cycles; docs/guide/how_a_layer_is_cut.md explains it.
#pragma once

#include <vector>

#include "compiler/lowering/layer_geometry.h"

namespace qsim {

// Folds whose weights one LOAD brings into one weight slot, and one EXECUTE runs: a box of the
// reduction.
struct WeightChunk {
  Range planes;
  Range kernel_rows;
  Range kernel_cols;
  std::int64_t folds() const { return planes.size() * kernel_rows.size() * kernel_cols.size(); }
};

// The part of the reduction whose activations one LOAD brings into one activation slot.
struct ActChunk {
  Range planes;
  Range kernel_rows;
  std::vector<WeightChunk> weights;
};

// Sizes of one mapping of one layer.
struct Tiling {
  std::int64_t out_rows = 1;  // ofmap rows and columns of a tile
  std::int64_t out_cols = 1;
  std::int64_t act_planes = 1;       // planes of an activation chunk
  std::int64_t act_kernel_rows = 1;  // kernel rows of an activation chunk
  std::int64_t estimated_cycles = 0;
};

// The reduction of column block `block`, cut into chunks; the same for every tile.
std::vector<ActChunk> reduction_chunks(const LayerGeometry& geometry, const Tiling& tiling,
                                       std::int64_t block, const ArchConfig& arch);

// True when one activation chunk serves every column block of a tile, so that it is loaded once.
bool act_is_resident(const LayerGeometry& geometry, const Tiling& tiling);

// The tiling with the fewest estimated cycles. Throws Error (exit code 4) naming the layer when
// not even the smallest tile fits, with what it needs and what there is.
Tiling choose_tiling(const FusedLayer& layer, const LayerGeometry& geometry,
                     const ArchConfig& arch);

}  // namespace qsim
