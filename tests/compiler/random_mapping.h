// Random valid mappings of a layer, for tests.
#pragma once

#include <algorithm>

#include "compiler/lowering/layer_geometry.h"
#include "compiler/lowering/mapping.h"
#include "core/base/random.h"

namespace qsim::testing {

// The smallest psum tile and chunks, in one slot each: what the smallest machine holds.
inline Mapping smallest_mapping(const compiler::LayerGeometry& g) {
  Mapping mapping;
  mapping.act_planes = g.granule_planes;
  mapping.act_slots = mapping.weight_slots = 1;
  return mapping;
}

// Any field of a mapping may have any value that is valid with the others. `fallback` is valid; it
// is what a draw without success gives.
inline Mapping random_mapping(const compiler::LayerGeometry& g, const ArchConfig& arch,
                              const Mapping& fallback, Random& random) {
  const auto up_to = [&](std::int64_t most) { return random.uniform(1, most); };
  const bool is_identity = std::holds_alternative<compiler::CopyLayer>(g.kind) ||
                           std::holds_alternative<compiler::AverageLayer>(g.kind);
  for (int attempt = 0; attempt < 400; ++attempt) {
    Mapping m;
    // Small layers on large memories: mostly tiles that are not the smallest.
    m.tile_rows = random.chance(0.3) ? g.out_rows : up_to(g.out_rows);
    m.tile_cols = random.chance(0.3) ? g.out_cols : up_to(g.out_cols);
    m.dataflow = static_cast<Dataflow>(random.uniform(0, 2));
    if (m.dataflow == Dataflow::kInputStationary && !is_identity && random.chance(0.7)) {
      m.blocks = up_to(std::min<std::int64_t>(g.column_blocks, 6));
    }
    m.batch_inner = random.chance(0.5);
    m.tiles_per_half = random.chance(0.5) ? 1 : up_to(4);
    m.halves_per_pass = up_to(2);
    m.order = random.chance(0.5) ? LoopOrder::kTilesOuter : LoopOrder::kBlocksOuter;
    const std::int64_t granules = g.most_act_planes() / g.granule_planes;
    m.act_planes = (random.chance(0.3) ? granules : up_to(granules)) * g.granule_planes;
    m.act_kernel_rows = random.chance(0.5) ? g.window.kernel_h : up_to(g.window.kernel_h);
    m.weight_folds = up_to(m.act_planes * m.act_kernel_rows * g.window.kernel_w);
    m.first_weight_folds = random.chance(0.5) ? m.weight_folds : up_to(m.weight_folds);
    m.act_slots = random.chance(0.2) ? 0 : up_to(random.chance(0.5) ? 4 : compiler::kMostSlots);
    m.weight_slots = random.chance(0.2) ? 0 : up_to(random.chance(0.5) ? 4 : compiler::kMostSlots);
    m.acts_resident = random.chance(0.4);
    m.weights_resident = random.chance(0.4);
    m.load_order = random.chance(0.5) ? LoadOrder::kNeed : LoadOrder::kRelease;
    if (!compiler::find_fault(g, m, arch)) return m;
  }
  return fallback;
}

}  // namespace qsim::testing
