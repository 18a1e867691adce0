#include "compiler/lowering/tiling.h"

#include <algorithm>
#include <optional>

#include "compiler/lowering/cost_model.h"
#include "core/checked_math.h"
#include "core/isa/command_fields.h"

namespace qsim {
namespace {

// What one command can count: rows and columns of a tile, planes, bytes of a run, and the channel
// blocks of a LOAD, which are its groups.
constexpr std::int64_t kMaxTileSide =
    std::min({max_of<Execute>("in_rows"), max_of<Execute>("in_cols"), max_of<Execute>("out_rows"),
              max_of<Execute>("out_cols"), max_of<Post>("in_rows"), max_of<Post>("in_cols"),
              max_of<Post>("out_rows"), max_of<Post>("out_cols"), max_of<Store>("groups")});
constexpr std::int64_t kMaxBlocks = max_of<Load>("groups");
constexpr std::int64_t kMaxRunBytes = max_of<Load>("run_bytes");

// The largest of the fewest equal parts of at most `limit` that `size` is cut into; each is a
// multiple of `unit`, but for the last.
std::int64_t equal_part(std::int64_t size, std::int64_t limit, std::int64_t unit = 1) {
  return round_up(ceil_div(size, ceil_div(size, limit)), unit);
}

std::int64_t slot_folds(const ArchConfig& arch) {
  const std::int64_t fold_bytes = arch.array_rows * arch.array_cols;
  return std::min(arch.weight_slot_words() / arch.fold_words(), kMaxRunBytes / fold_bytes);
}

// The most folds of a weight chunk: whole planes, else kernel rows of one plane, else kernel
// columns of one kernel row.
std::int64_t weight_folds(std::int64_t planes, std::int64_t kernel_rows, std::int64_t kernel_w,
                          const ArchConfig& arch) {
  const std::int64_t folds = slot_folds(arch);
  const std::int64_t plane_folds = kernel_rows * kernel_w;
  if (plane_folds <= folds) return equal_part(planes, folds / plane_folds) * plane_folds;
  if (kernel_w <= folds) return equal_part(kernel_rows, folds / kernel_w) * kernel_w;
  return equal_part(kernel_w, folds);
}

// What a tile of out_rows x out_cols needs of the memories.
struct TileNeeds {
  std::int64_t psums = 0;
  std::int64_t outputs = 0;
  std::int64_t conv_rows = 0;
  std::int64_t in_cols = 0;
};

TileNeeds tile_needs(const LayerGeometry& g, std::int64_t out_rows, std::int64_t out_cols) {
  TileNeeds needs;
  needs.conv_rows = std::min(g.conv_rows, (out_rows - 1) * g.pool.stride_h + g.pool.kernel_h);
  const std::int64_t conv_cols =
      std::min(g.conv_cols, (out_cols - 1) * g.pool.stride_w + g.pool.kernel_w);
  needs.psums = needs.conv_rows * conv_cols;
  needs.outputs = out_rows * out_cols;
  needs.in_cols = std::min(g.in_cols, (conv_cols - 1) * g.window.stride_w + g.window.kernel_w);
  return needs;
}

// The layer's first chunk is not hidden. It is as small as lets the array work on it while the
// next one is loaded.
std::int64_t first_weight_folds(const LayerGeometry& g, const Mapping& mapping,
                                const ArchConfig& arch) {
  const TileNeeds needs = tile_needs(g, mapping.tile_rows, mapping.tile_cols);
  const std::int64_t fold_bytes = arch.array_rows * arch.array_cols;
  const std::int64_t load_cycles =
      mapping.weight_folds * fold_bytes / std::min(arch.bus_bytes, arch.weight_word_bytes());
  const std::int64_t folds = ceil_div(load_cycles, std::max(needs.psums, arch.array_rows));
  return std::min(mapping.weight_folds, folds);
}

std::int64_t in_rows_for(const LayerGeometry& g, std::int64_t conv_rows, std::int64_t kernel_rows) {
  return std::min(g.in_rows, (conv_rows - 1) * g.window.stride_h + kernel_rows);
}

// The largest activation chunk that fits one slot for this tile, or nothing.
std::optional<Tiling> fit(const LayerGeometry& g, std::int64_t out_rows, std::int64_t out_cols,
                          const ArchConfig& arch) {
  const TileNeeds needs = tile_needs(g, out_rows, out_cols);
  if (needs.psums > arch.accumulator_half_words() || needs.outputs > arch.output_half_words() ||
      needs.conv_rows > kMaxTileSide || needs.in_cols > kMaxTileSide ||
      needs.psums / needs.conv_rows > kMaxTileSide) {
    return std::nullopt;
  }
  Tiling tiling{.out_rows = out_rows, .out_cols = out_cols};
  const std::int64_t all_planes = g.planes_of(0, arch).size();
  for (std::int64_t rows = g.window.kernel_h; rows >= 1; --rows) {
    const std::int64_t in_rows = in_rows_for(g, needs.conv_rows, rows);
    const std::int64_t plane_words = in_rows * needs.in_cols;
    const std::int64_t slot_bytes_limit = kMaxRunBytes / arch.array_rows;
    const std::int64_t slot_words = std::min(arch.act_slot_words(), slot_bytes_limit);
    const std::int64_t granules =
        std::min(slot_words / (plane_words * g.granule_planes), kMaxBlocks);
    if (granules < 1 || in_rows > kMaxTileSide) continue;
    tiling.act_kernel_rows = rows;
    tiling.act_planes =
        std::min(granules * g.granule_planes, round_up(all_planes, g.granule_planes));
    return tiling;
  }
  return std::nullopt;
}

// Sizes to try along one axis: what gives 1, 2, 3, ... equal tiles.
std::vector<std::int64_t> candidate_sizes(std::int64_t size) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t parts = 1; parts <= size; ++parts) {
    const std::int64_t step = ceil_div(size, parts);
    if (sizes.empty() || step < sizes.back()) sizes.push_back(step);
  }
  return sizes;
}

[[noreturn]] void refuse(const FusedLayer& layer, const LayerGeometry& g, const ArchConfig& arch) {
  const TileNeeds needs = tile_needs(g, 1, 1);
  const std::int64_t act_words =
      in_rows_for(g, needs.conv_rows, 1) * needs.in_cols * g.granule_planes;
  throw_unsupported(
      layer_place(layer.name, layer.source) + ": its smallest tile does not fit config '" +
      arch.name + "': it needs " + std::to_string(act_words) + " words of an activation slot (" +
      std::to_string(arch.act_slot_words()) + " available), " + std::to_string(needs.psums) +
      " of an accumulator half (" + std::to_string(arch.accumulator_half_words()) +
      " available) and 1 of an output half (" + std::to_string(arch.output_half_words()) +
      " available)");
}

}  // namespace

bool act_is_resident(const LayerGeometry& geometry, const Tiling& tiling) {
  return !geometry.is_identity && tiling.act_planes >= geometry.planes &&
         tiling.act_kernel_rows == geometry.window.kernel_h;
}

Tiling choose_tiling(const FusedLayer& layer, const LayerGeometry& geometry,
                     const ArchConfig& arch) {
  std::optional<Tiling> best;
  for (const std::int64_t cols : candidate_sizes(geometry.out_cols)) {
    for (const std::int64_t rows : candidate_sizes(geometry.out_rows)) {
      std::optional<Tiling> tiling = fit(geometry, rows, cols, arch);
      if (!tiling) continue;
      tiling->estimated_cycles = estimate_cycles(geometry, *tiling, arch);
      if (!best || tiling->estimated_cycles < best->estimated_cycles) best = tiling;
    }
  }
  if (!best) refuse(layer, geometry, arch);
  return *best;
}

Mapping mapping_of(const LayerGeometry& g, const Tiling& tiling, const ArchConfig& arch) {
  const std::int64_t planes = g.planes_of(0, arch).size();
  Mapping mapping;
  mapping.tile_rows = tiling.out_rows;
  mapping.tile_cols = tiling.out_cols;
  mapping.act_planes = equal_part(planes, tiling.act_planes, g.granule_planes);
  mapping.act_kernel_rows = equal_part(g.window.kernel_h, tiling.act_kernel_rows);
  mapping.weight_folds = weight_folds(std::min(planes, mapping.act_planes), mapping.act_kernel_rows,
                                      g.window.kernel_w, arch);
  mapping.first_weight_folds = first_weight_folds(g, mapping, arch);
  mapping.act_slots = arch.act_slots;
  mapping.weight_slots = arch.weight_slots;
  mapping.acts_resident = act_is_resident(g, tiling) && g.column_blocks > 1;
  return mapping;
}

}  // namespace qsim
