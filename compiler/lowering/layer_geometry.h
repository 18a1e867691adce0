// A fused layer's sizes in the machine's units: planes of array_rows channels, column blocks of
// array_cols channels, and what a tile of the ofmap needs of the ifmap. The layer's kind answers
// what differs between kinds (layer_kinds.h).
#pragma once

#include <variant>

#include "compiler/lowering/layer_kinds.h"
#include "compiler/passes/fused_layer.h"
#include "compiler/passes/window_limits.h"
#include "core/base/checked_math.h"
#include "core/machine/arch_config.h"

namespace qsim::compiler {

// Pixels are (row, column) positions of one picture. Where rows are vectors, the whole batch is one
// "picture".
struct LayerGeometry {
  using Kind = std::variant<ConvolutionLayer, VectorLayer, GroupedLayer, CopyLayer, AverageLayer,
                            ConcatLayer, AddLayer>;
  Kind kind;
  std::int64_t pictures = 1;
  std::int64_t in_rows = 1;
  std::int64_t in_cols = 1;
  std::int64_t conv_rows = 1;
  std::int64_t conv_cols = 1;
  std::int64_t out_rows = 1;
  std::int64_t out_cols = 1;
  std::int64_t planes = 1;          // of array_rows input channels, with at least one used
  std::int64_t granule_planes = 1;  // planes that a LOAD brings together: a DRAM channel block
  std::int64_t column_blocks = 1;   // of array_cols output channels
  std::int64_t weight_parts = 1;    // FusedLayer's: folds of each tap and plane
  std::int64_t tables = 0;          // lookup tables that come with each LOAD of parameters: 0 or 1
  Window window;
  Window pool;

  const KindTraits& traits() const {
    return std::visit([](const auto& k) -> const KindTraits& { return k.kTraits; }, kind);
  }
  // Whether each column block reads input channels of its own; else each reads all.
  bool has_own_planes() const { return traits().reads != ChannelReads::kAllChannels; }
  // Whether a box of folds is of one tap.
  bool taps_are_apart() const { return traits().shares_weights || runs_tap_by_tap(window); }
  // Null but for an average pool whose windows count several numbers of positions.
  const WindowCounts* window_counts() const {
    const auto* average = std::get_if<AverageLayer>(&kind);
    return average != nullptr ? average->counts.get() : nullptr;
  }

  // Planes that column block `block` reduces over: all, or those with its own channels.
  Range planes_of(std::int64_t block) const;
  // The ifmap that has this plane, and the plane's number there.
  OperandPlane operand_plane(std::int64_t plane) const;
  // Where a channel reads itself: the array's row on which plane `plane` has output channel
  // `channel`. Outside [0, array_rows) where another plane has it.
  std::int64_t row_of(std::int64_t channel, std::int64_t plane, std::int64_t array_rows) const;
  // Parameter blocks of a column block: one for each number that windows count.
  std::int64_t param_blocks() const {
    const WindowCounts* counts = window_counts();
    return counts != nullptr ? std::ssize(counts->counts) : 1;
  }
  // What an activation chunk can have: all of a column block, or a channel block of one operand.
  std::int64_t most_act_planes() const {
    return traits().has_operands ? granule_planes : round_up(planes_of(0).size(), granule_planes);
  }
  // Folds of one plane; and those that have weights of their own.
  std::int64_t plane_folds() const { return window.kernel_h * window.kernel_w * weight_parts; }
  std::int64_t plane_weight_folds() const { return traits().shares_weights ? 1 : plane_folds(); }
};

LayerGeometry layer_geometry(const FusedLayer& layer, const ArchConfig& arch);

// Psum positions under the pooling windows of ofmap positions `out` along one axis, within
// [0, conv_size).
Range conv_range(Range out, std::int64_t pool_kernel, std::int64_t pool_stride,
                 std::int64_t pool_pad, std::int64_t conv_size);

// Input positions from the first to the last under kernel positions `kernel` of psum positions
// `conv` along one axis, within [0, in_size); at least one position, so that there is something to
// load even where a tile sees only padding.
Range input_range(Range conv, Range kernel, std::int64_t stride, std::int64_t dilation,
                  std::int64_t pad, std::int64_t in_size);

}  // namespace qsim::compiler
