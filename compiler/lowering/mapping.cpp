#include "compiler/lowering/mapping.h"

#include <algorithm>

#include "compiler/lowering/loop_nest.h"
#include "core/machine/isa/command_fields.h"

namespace qsim::compiler {
namespace {

// What one command can count: rows and columns of a tile, and the channel blocks of a LOAD, which
// are its groups; and the bytes of a run.
constexpr std::int64_t kMaxTileSide =
    std::min({max_of<Execute>("in_rows"), max_of<Execute>("in_cols"), max_of<Execute>("out_rows"),
              max_of<Execute>("out_cols"), max_of<Post>("in_rows"), max_of<Post>("in_cols"),
              max_of<Post>("out_rows"), max_of<Post>("out_cols"), max_of<Store>("groups")});
constexpr std::int64_t kMaxGroups = max_of<Load>("groups");
constexpr std::int64_t kMaxRunBytes = max_of<Load>("run_bytes");

// The largest psum tile and what an activation slot holds for it.
struct TileShape {
  std::int64_t conv_rows = 0;
  std::int64_t conv_cols = 0;
  std::int64_t in_rows = 0;  // under the kernel rows of an activation chunk
  std::int64_t in_cols = 0;
};

TileShape tile_shape(const LayerGeometry& g, const Mapping& m) {
  TileShape size;
  size.conv_rows = std::min(g.conv_rows, (m.tile_rows - 1) * g.pool.stride_h + g.pool.kernel_h);
  size.conv_cols = std::min(g.conv_cols, (m.tile_cols - 1) * g.pool.stride_w + g.pool.kernel_w);
  size.in_rows = std::min(g.in_rows, (size.conv_rows - 1) * g.window.stride_h +
                                         (m.act_kernel_rows - 1) * g.window.dilation_h + 1);
  size.in_cols =
      std::min(g.in_cols, (size.conv_cols - 1) * g.window.stride_w + g.window.extent_w());
  return size;
}

// Where LayerGeometry::has_own_planes(). Two column blocks of one group read the same channels, but
// a pass knows the planes of one block alone.
constexpr std::string_view kOwnPlanesOneBlock =
    "a layer with groups, or without weights, takes one column block at a time";
constexpr std::string_view kOwnPlanesNothingStays =
    "false: a layer with groups, or without weights, loads activations for each column block";

class FaultFinder {
 public:
  FaultFinder(const LayerGeometry& geometry, const Mapping& mapping, const ArchConfig& arch)
      : g_(geometry), m_(mapping), arch_(arch) {}

  std::optional<MappingFault> find() {
    check_counts();
    if (!fault_) check_memories();
    if (!fault_) check_residency();
    return fault_;
  }

 private:
  void range(std::string_view field, std::int64_t found, std::int64_t least, std::int64_t most,
             std::string_view reason, std::int64_t unit = 1) {
    if (fault_ || (found >= least && found <= most && found % unit == 0)) return;
    fault_ = {field, found, least, most, unit, 0, 0, reason};
  }

  void needs(std::string_view field, std::int64_t found, std::int64_t need, std::int64_t have,
             std::string_view what) {
    if (fault_ || need <= have) return;
    fault_ = {field, found, 0, 0, 0, need, have, what};
  }

  void check_counts() {
    range("tile_rows", m_.tile_rows, 1, g_.out_rows, "the ofmap's rows");
    range("tile_cols", m_.tile_cols, 1, g_.out_cols, "the ofmap's columns");
    range("tiles_per_half", m_.tiles_per_half, 1, arch_.accumulator_half_words(),
          "the words of an accumulator half");
    range("halves_per_pass", m_.halves_per_pass, 1, kAccumulatorHalves, "the accumulator's halves");
    range("blocks", m_.blocks, 1, most_blocks(g_, m_.dataflow), why_most_blocks());
    range("act_planes", m_.act_planes, g_.granule_planes, g_.most_act_planes(),
          "the planes of a channel block of DRAM, up to all of a column block", g_.granule_planes);
    range("act_kernel_rows", m_.act_kernel_rows, 1, g_.window.kernel_h, "the kernel's rows");
    range("weight_folds", m_.weight_folds, 1, kMaxRunBytes / (arch_.array_rows * arch_.array_cols),
          "the bytes of one run of a LOAD");
    range("first_weight_folds", m_.first_weight_folds, 1, m_.weight_folds, "weight_folds");
    range("act_slots", m_.act_slots, 0, kMostSlots, "the tokens that a semaphore counts");
    range("weight_slots", m_.weight_slots, 0, kMostSlots, "the tokens that a semaphore counts");
    if (g_.has_own_planes()) {
      range("acts_resident", m_.acts_resident ? 1 : 0, 0, 0, kOwnPlanesNothingStays);
    }
  }

  std::string_view why_most_blocks() const {
    if (g_.has_own_planes()) return kOwnPlanesOneBlock;
    if (m_.dataflow != Dataflow::kInputStationary) return "more than 1 for input_stationary alone";
    return "the layer's column blocks, and at most what an EXECUTE counts";
  }

  void check_memories() {
    const TileShape size = tile_shape(g_, m_);
    const MemoryParts parts = memory_parts(g_, m_, arch_);
    needs("tile_rows", m_.tile_rows, std::max(size.conv_rows, size.in_rows), kMaxTileSide,
          "rows of a command");
    needs("tile_cols", m_.tile_cols, std::max(size.conv_cols, size.in_cols), kMaxTileSide,
          "columns of a command");
    needs("tiles_per_half", m_.tiles_per_half, m_.tiles_per_half * parts.psum_words,
          arch_.accumulator_half_words(), "words of an accumulator half");
    needs("tile_rows", m_.tile_rows, parts.output_words, arch_.output_half_words(),
          "words of an output half");
    needs("act_planes", m_.act_planes, parts.act_slot_words * arch_.array_rows, kMaxRunBytes,
          "bytes of one run of a LOAD");
    needs("act_planes", m_.act_planes, ceil_div(m_.act_planes, g_.granule_planes), kMaxGroups,
          "groups of a LOAD");
    needs("act_slots", parts.act_slots, parts.act_slots * parts.act_slot_words, arch_.act_words(),
          "words of the activation scratchpad");
    needs("weight_folds", m_.weight_folds,
          m_.weight_folds * m_.blocks * arch_.array_rows * arch_.array_cols, kMaxRunBytes,
          "bytes of one run of a LOAD");
    needs("weight_slots", parts.weight_slots, parts.weight_slots * parts.weight_slot_words,
          arch_.weight_words(), "words of the weight scratchpad");
  }

  // Chunks that are in use at once have a slot each, else a LOAD would wait for a slot that is
  // freed only after an EXECUTE that needs this LOAD.
  void check_residency() {
    const MemoryParts parts = memory_parts(g_, m_, arch_);
    const LoopNest nest(g_, m_);
    const std::int64_t set = std::min(nest.tiles(), m_.tiles_per_half * m_.halves_per_pass);
    const bool tiles_outer = m_.order == LoopOrder::kTilesOuter;
    const Reduction& reduction = nest.reduction_of_group(0);
    std::int64_t acts = 1;
    if (m_.acts_resident) {
      acts = (tiles_outer ? set : nest.tiles()) * std::ssize(reduction.acts);
    } else if (reduction.weights.size() > reduction.acts.size() || nest.splits_first_chunk()) {
      acts = set;
    }
    needs("act_slots", parts.act_slots, acts, parts.act_slots,
          "activation slots, one for each chunk that is in use at once");
    if (!m_.weights_resident) return;
    std::int64_t weights = 0;
    for (std::int64_t group = 0; group < nest.groups(); ++group) {
      const std::int64_t chunks = nest.weight_chunks_of_group(group);
      weights = tiles_outer ? weights + chunks : std::max(weights, chunks);
    }
    needs("weight_slots", parts.weight_slots, weights, parts.weight_slots,
          "weight slots, one for each chunk that is in use at once");
  }

  const LayerGeometry& g_;
  const Mapping& m_;
  const ArchConfig& arch_;
  std::optional<MappingFault> fault_;
};

}  // namespace

std::int64_t most_blocks(const LayerGeometry& g, Dataflow dataflow) {
  if (dataflow != Dataflow::kInputStationary || g.has_own_planes()) return 1;
  return std::min(g.column_blocks, max_of<Execute>("blocks"));
}

std::optional<MappingFault> find_fault(const LayerGeometry& geometry, const Mapping& mapping,
                                       const ArchConfig& arch) {
  return FaultFinder(geometry, mapping, arch).find();
}

std::string fault_text(const MappingFault& fault) {
  std::string text = std::string(fault.field) + " is " + std::to_string(fault.found);
  for (const MappingField& field : mapping_fields()) {
    if (field.name != fault.field || field.words.empty()) continue;
    text = std::string(fault.field) + " is " +
           std::string(field.words[static_cast<std::size_t>(fault.found)]);
    return text + "; allowed is " + std::string(fault.reason);
  }
  if (fault.unit == 0) {
    return text + ", which needs " + std::to_string(fault.need) + " " + std::string(fault.reason) +
           "; " + std::to_string(fault.have) + " are there";
  }
  text += "; " + std::to_string(fault.least) + " to " + std::to_string(fault.most) + " is allowed";
  if (fault.unit > 1) text += ", a multiple of " + std::to_string(fault.unit);
  return text + " (" + std::string(fault.reason) + ")";
}

MemoryParts memory_parts(const LayerGeometry& g, const Mapping& m, const ArchConfig& arch) {
  const TileShape size = tile_shape(g, m);
  const std::int64_t planes = std::min(m.act_planes, g.planes_of(0).size());
  const std::int64_t act_folds =
      planes * (g.taps_are_apart() ? 1 : m.act_kernel_rows * g.window.kernel_w);
  MemoryParts parts;
  parts.act_slots = m.act_slots == 0 ? arch.act_slots : m.act_slots;
  parts.weight_slots = m.weight_slots == 0 ? arch.weight_slots : m.weight_slots;
  parts.act_slot_words = size.in_rows * size.in_cols * round_up(planes, g.granule_planes);
  parts.weight_slot_words = std::min(m.weight_folds, act_folds) * m.blocks * arch.fold_words();
  parts.psum_words = size.conv_rows * size.conv_cols * m.blocks * g.traits().tiles_of_post;
  parts.output_words = m.tile_rows * m.tile_cols;
  return parts;
}

std::string short_text(const LayerGeometry& g, const Mapping& m) {
  const LoopNest nest(g, m);
  const Reduction& reduction = nest.reduction_of_group(0);
  std::string text = std::to_string(m.tile_rows) + "x" + std::to_string(m.tile_cols) + " x" +
                     std::to_string(g.column_blocks) +
                     (g.column_blocks == 1 ? " block" : " blocks");
  if (m.dataflow != Dataflow::kWeightStationary) {
    text = std::string(short_name(m.dataflow)) + " " + text;
  }
  if (reduction.acts.size() > 1)
    text += ", " + std::to_string(reduction.acts.size()) + " act chunks";
  if (reduction.weights.size() > 1) {
    text += ", " + std::to_string(reduction.weights.size()) + " weight chunks";
  }
  return text;
}

}  // namespace qsim::compiler
