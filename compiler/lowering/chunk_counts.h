// Into how many chunks a mapping cuts the reduction of a column block, in closed form. The loop
// nest makes the chunks (loop_nest.h); this counts them for searches, which ask it often.
#pragma once

#include "compiler/lowering/mapping.h"

namespace qsim::compiler {

struct ChunkCounts {
  std::int64_t acts = 0;
  std::int64_t weights = 0;
  std::int64_t executes = 0;  // a weight chunk has one, or one for each tap
  // In the pass with the layer's first weight chunk, which may be smaller: how many more, and the
  // folds of that chunk.
  std::int64_t more_weights = 0;
  std::int64_t more_executes = 0;
  std::int64_t first_folds = 0;    // that have weights
  std::int64_t last_folds = 0;     // of the last weight chunk
  std::int64_t largest_folds = 0;  // of a weight chunk; no chunk has more
  // Folds outside of the largest weight chunk of their activation chunk.
  std::int64_t later_folds = 0;

  // Of a pass with the layer's first weight chunk: whether an activation chunk has several.
  bool splits_acts() const { return weights + more_weights > acts; }
};

// Of a column block with `planes` planes.
ChunkCounts count_chunks(const LayerGeometry& geometry, std::int64_t planes,
                         const Mapping& mapping);

}  // namespace qsim::compiler
