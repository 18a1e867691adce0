#include "compiler/lowering/mapping_space.h"

#include <algorithm>

#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

// The layer's first weights are not hidden: a small chunk lets the array begin.
constexpr std::int64_t kFirstWeightFolds = 4;
// The fast search looks at weight chunks that leave room to load ahead a little, and more.
constexpr std::int64_t kFastWeightSlots = 3;

// Walks the fields from the outermost on.
class SpaceWalk {
 public:
  SpaceWalk(const LayerGeometry& geometry, const ArchConfig& arch, const MapperOptions& options,
            const std::function<void(const Chunking&)>& visit)
      : g_(geometry),
        arch_(arch),
        is_full_(options.search == MappingSearch::kFull),
        visit_(visit),
        mapping_(chunking_.mapping),
        chunks_(chunking_.chunks) {
    mapping_.dataflow = options.dataflow;
  }

  void walk(std::int64_t tile_rows, std::int64_t tile_cols) {
    mapping_.tile_rows = tile_rows;
    mapping_.tile_cols = tile_cols;
    mapping_.act_planes = g_.granule_planes;
    tiles_ = g_.pictures * ceil_div(g_.out_rows, tile_rows) * ceil_div(g_.out_cols, tile_cols);
    for (const std::int64_t blocks : block_counts(g_, mapping_.dataflow)) {
      mapping_.blocks = blocks;
      walk_tiles();
    }
  }

 private:
  void walk_tiles() {
    const MemoryParts parts = memory_parts(g_, mapping_, arch_);
    const std::int64_t most = std::min(tiles_, arch_.accumulator_half_words() / parts.psum_words);
    for (std::int64_t m = 1; m <= most; m *= 2) {
      for (std::int64_t h = 1; h <= kAccumulatorHalves && m * h <= tiles_; ++h) {
        mapping_.tiles_per_half = m;
        mapping_.halves_per_pass = h;
        walk_pictures(m * h);
      }
    }
  }

  void walk_pictures(std::int64_t set_tiles) {
    set_tiles_ = set_tiles;
    mapping_.batch_inner = false;
    walk_acts();
    if (g_.pictures == 1 || set_tiles == 1) return;
    mapping_.batch_inner = true;
    walk_acts();
  }

  // Chunks of all kernel rows, or of fewer where those do not fit at all.
  void walk_acts() {
    planes_ = g_.planes_of(0).size();
    for (const std::int64_t rows : equal_cuts(g_.window.kernel_h)) {
      mapping_.act_kernel_rows = rows;
      bool fits = false;
      for (const std::int64_t planes : equal_cuts(g_.most_act_planes(), g_.granule_planes)) {
        mapping_.act_planes = planes;
        const MemoryParts parts = memory_parts(g_, mapping_, arch_);
        chunking_.slots.most_acts = arch_.act_words() / parts.act_slot_words;
        if (chunking_.slots.most_acts < 1) continue;
        fits = true;
        walk_weights();
      }
      if (fits && !is_full_) return;
    }
  }

  // Chunks of whole planes, else of kernel rows, else of kernel columns.
  void walk_weights() {
    const std::int64_t planes = std::min(mapping_.act_planes, planes_);
    const bool apart = g_.taps_are_apart();
    const std::int64_t plane_folds = apart ? 1 : mapping_.act_kernel_rows * g_.window.kernel_w;
    std::vector<std::int64_t> sizes;
    for (const std::int64_t p : equal_cuts(planes)) sizes.push_back(p * plane_folds);
    if (!apart) {
      for (const std::int64_t r : equal_cuts(mapping_.act_kernel_rows)) {
        sizes.push_back(r * g_.window.kernel_w);
      }
      for (const std::int64_t c : equal_cuts(g_.window.kernel_w)) sizes.push_back(c);
    }
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    // The fast search takes few sizes: the largest with enough slots to load ahead a little, more,
    // and as far as tokens can count.
    std::int64_t least_slots = is_full_ ? 1 : kFastWeightSlots;
    for (const std::int64_t folds : sizes) {
      std::int64_t& slots = chunking_.slots.most_weights;
      slots = arch_.weight_words() / (folds * mapping_.blocks * arch_.fold_words());
      if (std::min(slots, kMostSlots) < (folds == sizes.back() ? 1 : least_slots)) continue;
      if (!is_full_) least_slots = std::max(2 * least_slots, std::min(slots, kMostSlots) + 1);
      mapping_.weight_folds = folds;
      walk_first_weights();
    }
  }

  // A first chunk that is smaller splits an activation chunk, which then needs a slot for each psum
  // tile of the set.
  void walk_first_weights() {
    mapping_.first_weight_folds = std::min(kFirstWeightFolds, mapping_.weight_folds);
    chunks_ = count_chunks(g_, planes_, mapping_);
    walk_order();
    if (set_tiles_ == 1 || !chunks_.splits_acts() || chunks_.weights > chunks_.acts) return;
    mapping_.first_weight_folds = mapping_.weight_folds;
    chunks_ = count_chunks(g_, planes_, mapping_);
    walk_order();
  }

  // With column blocks outermost the weights stay for all tile sets; where they do not, tile sets
  // outermost move no more.
  void walk_order() {
    const std::int64_t groups = ceil_div(g_.column_blocks, mapping_.blocks);
    mapping_.order = LoopOrder::kTilesOuter;
    mapping_.weights_resident = false;
    walk_weight_slots(1);
    mapping_.weights_resident = true;
    walk_weight_slots(chunks_.weights * groups + chunks_.more_weights);
    if (g_.column_blocks == 1) return;
    mapping_.order = LoopOrder::kBlocksOuter;
    walk_weight_slots(chunks_.weights + chunks_.more_weights);
  }

  void walk_weight_slots(std::int64_t least) {
    chunking_.slots.least_weights = least;
    if (least > std::min(kMostSlots, chunking_.slots.most_weights)) return;
    const bool tiles_outer = mapping_.order == LoopOrder::kTilesOuter;
    mapping_.acts_resident = false;
    visit(chunks_.splits_acts() ? set_tiles_ : 1);
    if (g_.has_own_planes() || g_.column_blocks == 1) return;
    mapping_.acts_resident = true;
    visit((tiles_outer ? std::min(set_tiles_, tiles_) : tiles_) * chunks_.acts);
  }

  void visit(std::int64_t least_act_slots) {
    SlotLimits& slots = chunking_.slots;
    slots.least_acts = least_act_slots;
    if (least_act_slots > std::min(kMostSlots, slots.most_acts)) return;
    mapping_.act_slots = std::min(kMostSlots, slots.most_acts);
    mapping_.weight_slots = std::min(kMostSlots, slots.most_weights);
    visit_(chunking_);
  }

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  bool is_full_;
  const std::function<void(const Chunking&)>& visit_;
  Chunking chunking_;
  Mapping& mapping_;
  ChunkCounts& chunks_;  // of a column block
  std::int64_t tiles_ = 1;
  std::int64_t set_tiles_ = 1;
  std::int64_t planes_ = 1;
};

// As many as the scratchpad holds, half of it, a quarter, ...: what the same scratchpad of half the
// size holds is among them.
std::vector<std::int64_t> slot_counts(std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (; most >= least && most > 0; most /= 2) {
    const std::int64_t slots = std::min(kMostSlots, most);
    if (counts.empty() || slots < counts.back()) counts.push_back(slots);
  }
  return counts;
}

}  // namespace

std::vector<std::int64_t> equal_cuts(std::int64_t whole, std::int64_t unit) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t parts = 1; parts <= ceil_div(whole, unit); ++parts) {
    const std::int64_t size = round_up(ceil_div(whole, parts), unit);
    if (sizes.empty() || size < sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

std::vector<std::int64_t> block_counts(const LayerGeometry& g, Dataflow dataflow) {
  std::vector<std::int64_t> counts{1};
  const std::int64_t most = most_blocks(g, dataflow);
  for (std::int64_t blocks = 2; blocks < most; blocks *= 2) counts.push_back(blocks);
  if (most > 1) counts.push_back(most);
  return counts;
}

void for_each_chunking(const LayerGeometry& geometry, const ArchConfig& arch,
                       const MapperOptions& options, std::int64_t tile_rows, std::int64_t tile_cols,
                       const std::function<void(const Chunking&)>& visit) {
  SpaceWalk(geometry, arch, options, visit).walk(tile_rows, tile_cols);
}

// In the order of need more slots only lead LOADs to wait less, so fewer are not in the space.
std::vector<Mapping> mappings_of(const Chunking& chunking, MappingSearch search) {
  std::vector<Mapping> mappings{chunking.mapping};
  Mapping mapping = chunking.mapping;
  mapping.load_order = LoadOrder::kRelease;
  mappings.push_back(mapping);
  if (search == MappingSearch::kFast) return mappings;
  const SlotLimits& limits = chunking.slots;
  for (const std::int64_t acts : slot_counts(limits.least_acts, limits.most_acts)) {
    for (const std::int64_t weights : slot_counts(limits.least_weights, limits.most_weights)) {
      mapping.act_slots = acts;
      mapping.weight_slots = weights;
      if (mapping != mappings[1]) mappings.push_back(mapping);
    }
  }
  return mappings;
}

}  // namespace qsim::compiler
