#include "compiler/lowering/mapping_space.h"

#include <algorithm>

#include "core/checked_math.h"
#include "core/isa/command_fields.h"

namespace qsim {
namespace {

// Walks the fields from the outermost on.
class SpaceWalk {
 public:
  SpaceWalk(const LayerGeometry& geometry, const ArchConfig& arch, const MapperOptions& options,
            const std::function<void(const Mapping&)>& visit)
      : g_(geometry), arch_(arch), is_full_(options.search == MappingSearch::kFull), visit_(visit) {
    mapping_.dataflow = options.dataflow;
  }

  void walk(std::int64_t tile_rows, std::int64_t tile_cols) {
    mapping_.tile_rows = tile_rows;
    mapping_.tile_cols = tile_cols;
    mapping_.act_planes = g_.granule_planes;
    tiles_ = g_.pictures * ceil_div(g_.out_rows, tile_rows) * ceil_div(g_.out_cols, tile_cols);
    for (const std::int64_t blocks : block_counts()) {
      mapping_.blocks = blocks;
      walk_tiles();
    }
  }

 private:
  // Of one EXECUTE: 1, 2, 4, ... and all.
  std::vector<std::int64_t> block_counts() const {
    std::vector<std::int64_t> counts{1};
    if (mapping_.dataflow != Dataflow::kInputStationary || g_.is_identity) return counts;
    const std::int64_t most = std::min(g_.column_blocks, max_of<Execute>("blocks"));
    for (std::int64_t blocks = 2; blocks < most; blocks *= 2) counts.push_back(blocks);
    if (most > 1) counts.push_back(most);
    return counts;
  }

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
    planes_ = g_.planes_of(0, arch_).size();
    for (const std::int64_t rows : equal_cuts(g_.window.kernel_h)) {
      mapping_.act_kernel_rows = rows;
      bool fits = false;
      for (const std::int64_t planes :
           equal_cuts(round_up(planes_, g_.granule_planes), g_.granule_planes)) {
        mapping_.act_planes = planes;
        const MemoryParts parts = memory_parts(g_, mapping_, arch_);
        most_act_slots_ = std::min(kMostSlots, arch_.act_words() / parts.act_slot_words);
        if (most_act_slots_ < 1) continue;
        fits = true;
        act_chunks_ = ceil_div(planes_, planes) * ceil_div(g_.window.kernel_h, rows);
        walk_weights();
      }
      if (fits && !is_full_) return;
    }
  }

  // Chunks of whole planes, else of kernel rows, else of kernel columns.
  void walk_weights() {
    const std::int64_t planes = std::min(mapping_.act_planes, planes_);
    const std::int64_t plane_folds = mapping_.act_kernel_rows * g_.window.kernel_w;
    std::vector<std::int64_t> sizes;
    for (const std::int64_t p : equal_cuts(planes)) sizes.push_back(p * plane_folds);
    for (const std::int64_t r : equal_cuts(mapping_.act_kernel_rows)) {
      sizes.push_back(r * g_.window.kernel_w);
    }
    for (const std::int64_t c : equal_cuts(g_.window.kernel_w)) sizes.push_back(c);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    // The fast search takes few sizes: the largest with enough slots to load ahead a little, more,
    // and as far as tokens can count.
    std::int64_t least_slots = is_full_ ? 1 : 3;
    for (const std::int64_t folds : sizes) {
      most_weight_slots_ = std::min(
          kMostSlots, arch_.weight_words() / (folds * mapping_.blocks * arch_.fold_words()));
      const bool is_last = folds == sizes.back();
      if (most_weight_slots_ < (is_last ? 1 : least_slots)) continue;
      if (!is_full_) least_slots = std::max(2 * least_slots, most_weight_slots_ + 1);
      mapping_.weight_folds = folds;
      block_weights_ = act_chunks_ * ceil_div(planes * plane_folds, folds);
      mapping_.first_weight_folds = std::min(kFirstWeightFolds, folds);
      walk_order();
    }
  }

  // With column blocks outermost the weights stay for all tile sets; where they do not, tile sets
  // outermost move no more.
  void walk_order() {
    mapping_.order = LoopOrder::kTilesOuter;
    mapping_.weights_resident = false;
    walk_weight_slots(1);
    mapping_.weights_resident = true;
    walk_weight_slots(block_weights_ * ceil_div(g_.column_blocks, mapping_.blocks));
    if (g_.column_blocks == 1) return;
    mapping_.order = LoopOrder::kBlocksOuter;
    walk_weight_slots(block_weights_);
  }

  void walk_weight_slots(std::int64_t least) {
    if (least > most_weight_slots_) return;
    mapping_.weight_slots = most_weight_slots_;
    for (const LoadOrder order : {LoadOrder::kNeed, LoadOrder::kRelease}) {
      mapping_.load_order = order;
      walk_residency();
    }
  }

  void walk_residency() {
    const bool tiles_outer = mapping_.order == LoopOrder::kTilesOuter;
    mapping_.acts_resident = false;
    walk_act_slots(set_tiles_);
    if (g_.is_identity || g_.column_blocks == 1) return;
    mapping_.acts_resident = true;
    walk_act_slots((tiles_outer ? set_tiles_ : tiles_) * act_chunks_);
  }

  void walk_act_slots(std::int64_t least) {
    if (least > most_act_slots_) return;
    visit(most_act_slots_);
    if (!is_full_) return;
    for (const std::int64_t slots : {2 * least, least}) {
      if (slots < most_act_slots_) visit(slots);
    }
  }

  void visit(std::int64_t act_slots) {
    mapping_.act_slots = act_slots;
    visit_(mapping_);
  }

  // The layer's first weights are not hidden: a small chunk lets the array begin.
  static constexpr std::int64_t kFirstWeightFolds = 4;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  bool is_full_;
  const std::function<void(const Mapping&)>& visit_;
  Mapping mapping_;
  std::int64_t tiles_ = 1;
  std::int64_t set_tiles_ = 1;
  std::int64_t planes_ = 1;
  std::int64_t act_chunks_ = 1;
  std::int64_t most_act_slots_ = 1;
  std::int64_t block_weights_ = 1;  // weight chunks of a column block
  std::int64_t most_weight_slots_ = 1;
};

}  // namespace

std::vector<std::int64_t> equal_cuts(std::int64_t whole, std::int64_t unit) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t parts = 1; parts <= ceil_div(whole, unit); ++parts) {
    const std::int64_t size = round_up(ceil_div(whole, parts), unit);
    if (sizes.empty() || size < sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

void for_each_mapping(const LayerGeometry& geometry, const ArchConfig& arch,
                      const MapperOptions& options, std::int64_t tile_rows, std::int64_t tile_cols,
                      const std::function<void(const Mapping&)>& visit) {
  SpaceWalk(geometry, arch, options, visit).walk(tile_rows, tile_cols);
}

}  // namespace qsim
