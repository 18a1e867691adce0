#include "compiler/lowering/cost_model.h"

#include <algorithm>

#include "core/checked_math.h"
#include "core/timing_model.h"

namespace qsim {
namespace {

// A cycle of the read bus counts as this fraction of a cycle even where it is hidden: it costs
// energy, and tilings with little to load leave slack for what the estimate does not see.
constexpr std::int64_t kLoadWeight = 32;

// Work of each unit, in cycles.
struct Work {
  std::int64_t load = 0;
  std::int64_t execute = 0;
  std::int64_t post = 0;
  std::int64_t store = 0;

  void add(const Work& other, std::int64_t times) {
    load += other.load * times;
    execute += other.execute * times;
    post += other.post * times;
    store += other.store * times;
  }
};

// Cycles of `runs` runs of `bytes` each; short runs are bound by the bursts in flight.
std::int64_t transfer_cycles(std::int64_t runs, std::int64_t bytes, std::int64_t word_bytes,
                             const ArchConfig& arch) {
  const std::int64_t beats = ceil_div(bytes, std::min(arch.bus_bytes, word_bytes));
  const std::int64_t bursts = ceil_div(beats, arch.burst_beats);
  const std::int64_t in_flight =
      ceil_div((arch.dram_latency_cycles + std::min(beats, arch.burst_beats)) * bursts,
               arch.outstanding_bursts);
  return runs * std::max(beats, in_flight);
}

// One tile of the given ofmap size, at an inner position of the picture.
class TileCost {
 public:
  TileCost(const LayerGeometry& geometry, const Tiling& tiling, const ArchConfig& arch)
      : g_(geometry), tiling_(tiling), arch_(arch) {
    const Range planes = g_.planes_of(0, arch_);
    planes_ = planes.size();
    folds_ = planes_ * g_.window.kernel_h * g_.window.kernel_w;
    act_chunks_ =
        ceil_div(planes_, tiling.act_planes) * ceil_div(g_.window.kernel_h, tiling.act_kernel_rows);
  }

  Work work(std::int64_t out_rows, std::int64_t out_cols) const {
    const std::int64_t conv_rows =
        std::min(g_.conv_rows, (out_rows - 1) * g_.pool.stride_h + g_.pool.kernel_h);
    const std::int64_t conv_cols =
        std::min(g_.conv_cols, (out_cols - 1) * g_.pool.stride_w + g_.pool.kernel_w);
    const std::int64_t act_loads = act_is_resident(g_, tiling_) ? 1 : g_.column_blocks;
    const std::int64_t weight_bytes = folds_ * arch_.array_rows * arch_.array_cols;
    const std::int64_t param_cycles =
        transfer_cycles(1, arch_.param_block_bytes(), arch_.bus_bytes, arch_);
    Work group;
    group.load = transfer_cycles(1, weight_bytes, arch_.weight_word_bytes(), arch_) + param_cycles;
    group.post = out_rows * out_cols * g_.pool.kernel_h * g_.pool.kernel_w;
    group.store = store_cycles(out_rows, out_cols);
    group.execute = static_cast<std::int64_t>(terms(conv_rows * conv_cols).stream());
    group.execute = std::max(group.execute, round_trip_period(group));
    Work tile;
    tile.add(group, g_.column_blocks);
    tile.load += act_loads * act_load_cycles(conv_rows, conv_cols);
    return tile;
  }

  // What cannot overlap: the first chunk's load, the last column block's post and store.
  std::int64_t ends(const Work& tile) const {
    const std::int64_t loads = act_is_resident(g_, tiling_) ? 1 : g_.column_blocks * act_chunks_;
    return tile.load / std::max<std::int64_t>(1, loads) + tile.post / g_.column_blocks +
           tile.store / g_.column_blocks + 2 * arch_.dram_latency_cycles + 2 * arch_.array_rows +
           arch_.array_cols;
  }

 private:
  // Of the EXECUTEs of a column block, as if they were one.
  ExecuteTerms terms(std::int64_t pixels) const {
    return timing_model::weight_stationary(
        {.pixels = static_cast<std::uint64_t>(pixels), .folds = static_cast<std::uint64_t>(folds_)},
        static_cast<std::uint64_t>(arch_.array_rows), static_cast<std::uint64_t>(arch_.array_cols));
  }

  // Cycles from one column block to the next that the two-part memories allow: a part is used again
  // only when the unit that empties it is done.
  std::int64_t round_trip_period(const Work& group) const {
    const ExecuteTerms any = terms(1);
    const auto drain = static_cast<std::int64_t>(any.fill + any.drain);
    const std::int64_t post = group.post + static_cast<std::int64_t>(kPostPipelineCycles);
    const std::int64_t accumulator = group.execute + drain + post;
    const std::int64_t output = post + group.store + arch_.dram_latency_cycles;
    const std::int64_t params = post + arch_.dram_latency_cycles + arch_.burst_beats;
    return ceil_div(std::max({accumulator, output, params}), 2);
  }

  std::int64_t act_load_cycles(std::int64_t conv_rows, std::int64_t conv_cols) const {
    if (g_.is_vector) {
      return transfer_cycles(conv_rows * act_chunks_,
                             ceil_div(planes_, act_chunks_) * arch_.array_rows, arch_.array_rows,
                             arch_);
    }
    const std::int64_t chunks_along_kernel = ceil_div(g_.window.kernel_h, tiling_.act_kernel_rows);
    const std::int64_t rows =
        std::min(g_.in_rows, (conv_rows - 1) * g_.window.stride_h + tiling_.act_kernel_rows);
    const std::int64_t cols =
        std::min(g_.in_cols, (conv_cols - 1) * g_.window.stride_w + g_.window.kernel_w);
    const std::int64_t granules = ceil_div(planes_, g_.granule_planes) * chunks_along_kernel;
    const std::int64_t pixel_bytes = g_.granule_planes * arch_.array_rows;
    if (cols == g_.in_cols) {
      return transfer_cycles(granules, rows * cols * pixel_bytes, arch_.array_rows, arch_);
    }
    return transfer_cycles(granules * rows, cols * pixel_bytes, arch_.array_rows, arch_);
  }

  std::int64_t store_cycles(std::int64_t out_rows, std::int64_t out_cols) const {
    const bool contiguous = arch_.block_channels() == arch_.array_cols && !g_.is_vector;
    if (!contiguous) {
      return transfer_cycles(out_rows * out_cols, arch_.array_cols, arch_.array_cols, arch_);
    }
    if (out_cols == g_.out_cols) {
      return transfer_cycles(1, out_rows * out_cols * arch_.array_cols, arch_.array_cols, arch_);
    }
    return transfer_cycles(out_rows, out_cols * arch_.array_cols, arch_.array_cols, arch_);
  }

  const LayerGeometry& g_;
  const Tiling& tiling_;
  const ArchConfig& arch_;
  std::int64_t planes_ = 1;
  std::int64_t folds_ = 1;
  std::int64_t act_chunks_ = 1;
};

}  // namespace

std::int64_t estimate_cycles(const LayerGeometry& g, const Tiling& tiling, const ArchConfig& arch) {
  const TileCost cost(g, tiling, arch);
  Work total;
  const std::int64_t full_rows = g.out_rows / tiling.out_rows;
  const std::int64_t full_cols = g.out_cols / tiling.out_cols;
  const std::int64_t rest_rows = g.out_rows % tiling.out_rows;
  const std::int64_t rest_cols = g.out_cols % tiling.out_cols;
  const Work full = cost.work(tiling.out_rows, tiling.out_cols);
  total.add(full, full_rows * full_cols * g.pictures);
  if (rest_rows > 0) {
    total.add(cost.work(rest_rows, tiling.out_cols), full_cols * g.pictures);
  }
  if (rest_cols > 0) {
    total.add(cost.work(tiling.out_rows, rest_cols), full_rows * g.pictures);
  }
  if (rest_rows > 0 && rest_cols > 0) total.add(cost.work(rest_rows, rest_cols), g.pictures);
  return std::max({total.load, total.execute, total.post, total.store}) + cost.ends(full) +
         total.load / kLoadWeight;
}

}  // namespace qsim
